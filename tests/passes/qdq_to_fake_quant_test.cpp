#include "graph/tensor_types.h"
#include "passes/graphs.h"
#include "quench/fake_quant.h"
#include "quench/quantizers.h"
#include "support/describe.h"

namespace quench {
namespace {

// image -> Q -> DQ -> Conv with a weight in int8 per channel and a bias in int32 -> Q -> DQ
Graph quantized_conv(const char* bias_scale = "const %b_s : float[2] = {0.0078125, 0.00390625}") {
  return parse_graph(concat(R"(graph "g" {
    input %x : float[N, 1, 3, 3]
    const %s : float[] = {0.0625}
    const %z : uint8[] = {114}
    const %s2 : float[1] = {0.0625}
    const %z2 : uint8[1] = {114}
    const %w_q : int8[2, 1, 1, 2] = {-128, 127, 3, -4}
    const %w_s : float[2] = {0.125, 0.0625}
    const %w_z : int8[2] = {0, 0}
    const %b_q : int32[2] = {1000, -70000}
    )",
                            bias_scale, R"(
    const %y_s : float[] = {0.07}
    const %y_z : int8[] = {-5}
    %q = QuantizeLinear "q" (%x, %s, %z)
    %d = DequantizeLinear "d" (%q, %s2, %z2)
    %w = DequantizeLinear "dw" (%w_q, %w_s, %w_z) {axis = 0}
    %b = DequantizeLinear "db" (%b_q, %b_s) {axis = 0}
    %c = Conv "c" (%d, %w, %b)
    %cq = QuantizeLinear "cq" (%c, %y_s, %y_z)
    %y = DequantizeLinear "y" (%cq, %y_s, %y_z)
    output %y
  })"));
}

TEST(QdqToFakeQuant, KeepsScalesZeroPointsAndBits) {
  at::manual_seed(1);
  Graph graph = quantized_conv();
  EXPECT_EQ(run_pass(graph, "qdq_to_fake_quant", 3 * at::randn({4, 1, 3, 3})), 4) << "and the outputs equal to the bit";
  EXPECT_EQ(ops_of(graph),
            (Ops{"quench.FakeQuant", "quench.FakeQuant", "quench.QuantizeBias", "Conv", "quench.FakeQuant"}));
  const Node &x = *graph.find_node("x.fq"), &w = *graph.find_node("w.fq"), &y = *graph.find_node("c.fq");
  EXPECT_EQ(fake_quant_spec(x).scheme.text(), "uint8 affine tensor");
  EXPECT_EQ(fake_quant_spec(w).scheme.text(), "int8 symmetric channel:0");
  EXPECT_EQ(fake_quant_spec(y).scheme.text(), "int8 affine tensor");
  EXPECT_EQ(fake_quant_spec(x).by, QuantizeBy::kDivision);
  EXPECT_EQ(fake_quant_spec(w).role, Role::kWeight);
  EXPECT_TRUE(fake_quant_flags(x).quantize);
  EXPECT_EQ(x.input(2)->tensor().item<float>(), 114.0F);
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
}

// Every code of a byte, of either sign, for scales of all kinds: n * s / s rounds to n.
TEST(QdqToFakeQuant, KeepsTheCodesOfWeights) {
  at::manual_seed(2);
  const at::Tensor codes = at::arange(-128, 128, at::kChar).reshape({1, 256}).repeat({200, 1}).contiguous();
  const at::Tensor scale = at::exp(at::randn({200}) * 4).clamp_min(1e-6);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 256}));
  Node& w =
      graph.add("DequantizeLinear", "w", {&graph.add_constant("codes", codes), &graph.add_constant("scale", scale)});
  w.attrs["axis"] = std::int64_t{0};
  Node& y = graph.add("Gemm", "y", {&x, &w.output()});
  y.attrs["transB"] = std::int64_t{1};
  graph.add_output(y.output());
  EXPECT_EQ(run_pass(graph, "qdq_to_fake_quant", at::randn({1, 256})), 1);
  const at::Tensor again = at::round(graph.value("w").tensor() / scale.unsqueeze(1));
  EXPECT_TRUE(at::equal(again.to(at::kChar), codes));
  const at::Tensor quantized = Executor(graph).run({}, {"w.fq"}).at("w.fq").tensor();
  EXPECT_TRUE(bit_equal(quantized, graph.value("w").tensor()));
}

// An exporter may write a DequantizeLinear for each reader of a weight. Unsigned codes come with a zero point.
TEST(QdqToFakeQuant, CodesThatTwoNodesReadAreOneWeight) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2]
    const %w_q : uint8[2, 2] = {0, 255, 128, 3}
    const %w_s : float[2] = {0.3, 0.0625}
    const %w_z : uint8[2] = {128, 7}
    const %other_s : float[] = {0.1}
    const %other_z : uint8[] = {100}
    %a = DequantizeLinear "da" (%w_q, %w_s, %w_z) {axis = 0}
    %b = DequantizeLinear "db" (%w_q, %w_s, %w_z) {axis = 0}
    %c = DequantizeLinear "dc" (%w_q, %other_s, %other_z)
    %u = MatMul "u" (%x, %a)
    %v = MatMul "v" (%u, %b)
    %y = MatMul "y" (%v, %c)
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "qdq_to_fake_quant", at::randn({1, 2})), 3) << "and the outputs equal to the bit";
  const Ops ops = ops_of(graph);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "quench.FakeQuant"), 2);
  EXPECT_EQ(graph.find_node("u")->input(1), graph.find_node("v")->input(1));
  EXPECT_NE(graph.find_node("u")->input(1), graph.find_node("y")->input(1)) << "another grid";
  const Node& weight = *graph.find_node("u")->input(1)->producer();
  EXPECT_EQ(fake_quant_spec(weight).scheme.text(), "uint8 affine channel:0");
  EXPECT_TRUE(at::equal(weight.input(2)->tensor().flatten(), at::tensor({128.0F, 7.0F})));
}

TEST(QdqToFakeQuant, LeavesABiasPlainWhoseScaleIsAnother) {
  Graph graph = quantized_conv("const %b_s : float[2] = {0.0078125, 0.002}");
  EXPECT_EQ(run_pass(graph, "qdq_to_fake_quant", at::randn({4, 1, 3, 3})), 4);
  EXPECT_EQ(ops_of(graph), (Ops{"quench.FakeQuant", "quench.FakeQuant", "Conv", "quench.FakeQuant"}));
  EXPECT_TRUE(graph.find_node("c")->input(2)->is_constant());
}

TEST(QdqToFakeQuant, LeavesOtherReadersOfTheTensorAlone) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[4]
    const %s : float[] = {0.05}
    const %t : float[] = {0.5}
    const %z : int8[] = {0}
    %q = QuantizeLinear "q" (%x, %s, %z)
    %d = DequantizeLinear "d" (%q, %s, %z)
    %same = QuantizeLinear "same" (%x, %s, %z)
    %e = DequantizeLinear "e" (%same, %s, %z)
    %coarse = QuantizeLinear "coarse" (%x, %t, %z)
    %f = DequantizeLinear "f" (%coarse, %t, %z)
    %a = Add "a" (%d, %x)
    %b = Add "b" (%e, %f)
    %y = Add "y" (%a, %b)
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "qdq_to_fake_quant", at::randn({4})), 3);
  const Ops ops = ops_of(graph);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "quench.FakeQuant"), 2);
  EXPECT_EQ(graph.find_node("a")->input(1), &graph.value("x"));
  EXPECT_EQ(graph.find_node("a")->input(0), graph.find_node("b")->input(0)) << "one quantizer for equal numbers";
}

TEST(QdqToFakeQuant, LeavesWhatItCannotSayAlone) {
  const auto changes = [](const std::string& lines) {
    Graph graph = parse_graph(concat(R"(graph "g" {
    input %x : float[4]
    input %s : float[]
    const %t : float[] = {0.5}
    const %u : float[] = {0.25}
    const %tiny : float[] = {1e-9}
    const %z : int8[] = {0}
    )",
                                     lines, "output %y\n}"));
    infer_shapes(graph);
    return run_passes(graph, {"qdq_to_fake_quant"})[0].changes;
  };
  EXPECT_EQ(changes("%q = QuantizeLinear \"q\" (%x, %s, %z)\n%y = DequantizeLinear \"y\" (%q, %s, %z)\n"), 0);
  EXPECT_EQ(changes("%q = QuantizeLinear \"q\" (%x, %t, %z)\n%y = DequantizeLinear \"y\" (%q, %u, %z)\n"), 0);
  EXPECT_EQ(changes("%q = QuantizeLinear \"q\" (%x, %tiny, %z)\n%y = DequantizeLinear \"y\" (%q, %tiny, %z)\n"), 0);
  EXPECT_EQ(changes("%y = QuantizeLinear \"y\" (%x, %t, %z)\n"), 0);
}

}  // namespace
}  // namespace quench
