#include "deploy/forms/qoperator_graph.h"

#include <gtest/gtest.h>

#include "quench/error.h"
#include "quench/pass.h"
#include "support/describe.h"

namespace quench {
namespace {

// `line` makes the float %a from %x and %y (of codes %cx and %cy) and the weight %w; what becomes of the graph, without
// the DequantizeLinear at its end.
std::string rewritten(const std::string& line, const std::string& type = "uint8", const std::string& only = "") {
  Graph graph = parse_graph(concat(R"(graph "g" {
    input %cx : )",
                                   type, R"([1, 2, 4, 4]
    input %cy : )",
                                   type, R"([1, 2, 4, 4]
    const %sx : float[] = {0.5}
    const %sy : float[] = {0.25}
    const %sa : float[] = {2}
    const %zx : )",
                                   type, R"([] = {3}
    const %zy : )",
                                   type, R"([] = {4}
    const %za : )",
                                   type, R"([] = {5}
    const %cw : int8[1, 2, 1, 1] = {1, -2}
    const %sw : float[1] = {0.125}
    const %zw : int8[1] = {0}
    const %b : float[1] = {1}
    const %zero : float[] = {0}
    const %six : float[] = {6}
    %x = DequantizeLinear "dx" (%cx, %sx, %zx)
    %y = DequantizeLinear "dy" (%cy, %sy, %zy)
    %w = DequantizeLinear "dw" (%cw, %sw, %zw) {axis = 0}
    )",
                                   line, R"(
    %ca = QuantizeLinear "qa" (%a, %sa, %za)
    %out = DequantizeLinear "da" (%ca, %sa, %za)
    output %out
  })"));
  run_passes(graph, {"infer_shapes"});
  use_quantized_operators(graph, only.empty() ? std::set<std::string>{} : std::set<std::string>{only});
  std::string text = describe(graph);
  const std::string tail = "; out = DequantizeLinear(ca, {2}, {5})";
  return text.ends_with(tail) ? text.substr(0, text.size() - tail.size()) : text;
}

TEST(QOperatorGraph, HasAnOperatorOnCodesForEach) {
  EXPECT_EQ(rewritten("%a = Conv \"a\" (%x, %w) {strides = ints[2, 2]}"),
            "ca = QLinearConv(cx, {0.5}, {3}, {1, -2}, {0.125}, {0}, {2}, {5}) strides=[2, 2]");
  EXPECT_EQ(rewritten("%a = Add \"a\" (%x, %y)"),
            "ca = com.microsoft.QLinearAdd(cx, {0.5}, {3}, cy, {0.25}, {4}, {2}, {5})");
  EXPECT_EQ(rewritten("%a = Mul \"a\" (%x, %y)"),
            "ca = com.microsoft.QLinearMul(cx, {0.5}, {3}, cy, {0.25}, {4}, {2}, {5})");
  EXPECT_EQ(rewritten("%a = MatMul \"a\" (%x, %y)"), "ca = QLinearMatMul(cx, {0.5}, {3}, cy, {0.25}, {4}, {2}, {5})");
  EXPECT_EQ(rewritten("%a = Concat \"a\" (%x, %y) {axis = 1}"),
            "ca = com.microsoft.QLinearConcat({2}, {5}, cx, {0.5}, {3}, cy, {0.25}, {4}) axis=1");
  EXPECT_EQ(rewritten("%a = Sigmoid \"a\" (%x)"), "ca = com.microsoft.QLinearSigmoid(cx, {0.5}, {3}, {2}, {5})");
  EXPECT_EQ(rewritten("%a = LeakyRelu \"a\" (%x) {alpha = 0.25}"),
            "ca = com.microsoft.QLinearLeakyRelu(cx, {0.5}, {3}, {2}, {5}) alpha=0.25");
  EXPECT_EQ(rewritten("%a = GlobalAveragePool \"a\" (%x)"),
            "ca = com.microsoft.QLinearGlobalAveragePool(cx, {0.5}, {3}, {2}, {5}) channels_last=0");
  EXPECT_EQ(rewritten("%a = AveragePool \"a\" (%x) {dilations = ints[1, 1], kernel_shape = ints[2, 2]}"),
            "ca = com.microsoft.QLinearAveragePool(cx, {0.5}, {3}, {2}, {5}) kernel_shape=[2, 2]");
}

TEST(QOperatorGraph, GivesConvABiasInInt32) {
  // 1 / (0.5 * 0.125)
  EXPECT_EQ(rewritten("%a = Conv \"a\" (%x, %w, %b)"),
            "ca = QLinearConv(cx, {0.5}, {3}, {1, -2}, {0.125}, {0}, {2}, {5}, {16})");
}

TEST(QOperatorGraph, ClampsCodesInThePlaceOfValues) {
  // q(0) = 5, q(6) = 3 + 5
  EXPECT_EQ(rewritten("%s = Add \"s\" (%x, %y)\n %a = Relu \"a\" (%s)"),
            "ca = com.microsoft.QLinearAdd(cx, {0.5}, {3}, cy, {0.25}, {4}, {2}, {5}); "
            "qa_clip = Clip(ca, {5}, {255}); "
            "out = DequantizeLinear(qa_clip, {2}, {5})");
  EXPECT_EQ(rewritten("%s = Add \"s\" (%x, %y)\n %a = Clip \"a\" (%s, %zero, %six)"),
            "ca = com.microsoft.QLinearAdd(cx, {0.5}, {3}, cy, {0.25}, {4}, {2}, {5}); "
            "qa_clip = Clip(ca, {5}, {8}); "
            "out = DequantizeLinear(qa_clip, {2}, {5})");
}

TEST(QOperatorGraph, LeavesTheRestBetweenItsPairs) {
  const std::string in = "x = DequantizeLinear(cx, {0.5}, {3}); ";
  const std::string both = in + "y = DequantizeLinear(cy, {0.25}, {4}); ",
                    quantize = "; ca = QuantizeLinear(a, {2}, {5})";
  EXPECT_EQ(rewritten("%a = Tanh \"a\" (%x)"), in + "a = Tanh(x)" + quantize);
  EXPECT_EQ(rewritten("%a = Add \"a\" (%x, %six)"), in + "a = Add(x, {6})" + quantize) << "an operand without codes";
  EXPECT_EQ(rewritten("%a = Add \"a\" (%x, %y)", "int16"), both + "a = Add(x, y)" + quantize);
  EXPECT_EQ(rewritten("%a = Add \"a\" (%x, %y)", "uint8", "Conv"), both + "a = Add(x, y)" + quantize);
  EXPECT_EQ(rewritten("%a = AveragePool \"a\" (%x) {dilations = ints[2, 2], kernel_shape = ints[2, 2]}"),
            in + "a = AveragePool(x) dilations=[2, 2] kernel_shape=[2, 2]" + quantize);
  EXPECT_EQ(rewritten("%a = MaxPool \"a\" (%x) {kernel_shape = ints[2, 2]}"),
            in + "a = MaxPool(x) kernel_shape=[2, 2]" + quantize)
      << "another scale after it";
}

TEST(QOperatorGraph, MovesCodesWhereTheScaleIsTheSame) {
  Graph graph = parse_graph(R"(graph "g" {
    input %cx : uint8[1, 2, 4, 4]
    const %s : float[] = {0.5}
    const %z : uint8[] = {3}
    %x = DequantizeLinear "dx" (%cx, %s, %z)
    %a = MaxPool "a" (%x) {kernel_shape = ints[2, 2]}
    %ca = QuantizeLinear "qa" (%a, %s, %z)
    %out = DequantizeLinear "da" (%ca, %s, %z)
    output %out
  })");
  run_passes(graph, {"infer_shapes"});
  EXPECT_EQ(use_quantized_operators(graph), 0);
  EXPECT_EQ(describe(graph), "a = MaxPool(cx) kernel_shape=[2, 2]; out = DequantizeLinear(a, {0.5}, {3})");
  EXPECT_EQ(graph.value("a").dtype(), DType::kUint8);
}

TEST(QOperatorGraph, MakesQGemmOfALinearLayer) {
  const auto gemm = [](const std::string& attributes) {
    Graph graph = parse_graph(concat(R"(graph "g" {
      input %cx : uint8[N, 2]
      const %sx : float[] = {0.5}
      const %zx : uint8[] = {3}
      const %cw : int8[3, 2] = {1, 2, 3, 4, 5, 6}
      const %sw : float[3] = {0.125, 0.25, 0.5}
      const %zw : int8[3] = {0, 0, 0}
      const %cb : int32[3] = {7, 8, 9}
      const %sb : float[3] = {0.0625, 0.125, 0.25}
      const %zb : int32[3] = {0, 0, 0}
      %x = DequantizeLinear "dx" (%cx, %sx, %zx)
      %w = DequantizeLinear "dw" (%cw, %sw, %zw) {axis = 0}
      %b = DequantizeLinear "db" (%cb, %sb, %zb) {axis = 0}
      %a = Gemm "a" (%x, %w, %b) )",
                                     attributes, R"(
      %ca = QuantizeLinear "qa" (%a, %sx, %zx)
      output %ca
    })"));
    run_passes(graph, {"infer_shapes"});
    use_quantized_operators(graph);
    return describe(graph);
  };
  EXPECT_EQ(gemm("{transB = 1}"),
            "ca = com.microsoft.QGemm(cx, {0.5}, {3}, {1, 2, 3, 4, 5, 6}, {0.125, 0.25, 0.5}, "
            "{0, 0, 0}, {7, 8, 9}, "
            "{0.5}, {3}) transA=0 transB=1");
  EXPECT_NE(gemm("{alpha = 2.0, transB = 1}").find("= Gemm("), std::string::npos);
}

TEST(QOperatorGraph, ShiftsInt8ToUint8) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[N, 2]
    const %s : float[] = {0.5}
    const %z : int8[] = {-3}
    const %low : int8[] = {-127}
    const %high : int8[] = {127}
    const %cw : int8[2] = {-128, 127}
    %q = QuantizeLinear "q" (%x, %s, %z)
    %c = Clip "c" (%q, %low, %high)
    %d = DequantizeLinear "d" (%c, %s, %z)
    %w = DequantizeLinear "w" (%cw, %s, %z)
    %y = Add "y" (%d, %w)
    output %y
  })");
  run_passes(graph, {"infer_shapes"});
  shift_to_uint8(graph);
  EXPECT_EQ(describe(graph),
            "q = QuantizeLinear(x, {0.5}, {125}); c = Clip(q, {1}, {255}); d = "
            "DequantizeLinear(c, {0.5}, {125}); "
            "w = DequantizeLinear({0, 255}, {0.5}, {125}); y = Add(d, w)");
  graph.verify();
  EXPECT_EQ(graph.value("c").dtype(), DType::kUint8);
}

}  // namespace
}  // namespace quench
