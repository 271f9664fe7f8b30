// The arithmetic is that of quant/integer_ops.h; here: that each operator finds its operands, types, rule and clip, and
// its shape.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/integer_form.h"
#include "ops/run_op.h"
#include "quant/integer_cases.h"
#include "support/expect_error.h"
#include "support/one_layer.h"

namespace quench {
namespace {

const QType kX = type_of("uint8 affine tensor", 0.02F, 120), kY = type_of("int8 affine tensor", 0.3F, -20);

TEST(Integer, ConvFindsItsBiasRuleAndClip) {
  at::manual_seed(1);
  const QType w_type = channel_type("int8 symmetric channel:0", 6, 0.01F);
  const at::Tensor x = random_codes({2, 4, 7, 8}, kX.scheme), w = random_codes({6, 2, 3, 3}, w_type.scheme);
  const at::Tensor bias = at::randint(-5000, 5000, {6}, at::kInt);
  OneLayer layer;
  layer.operand(x, kX);
  layer.operand(w, w_type, true);
  layer.params(kY);
  layer.inputs.push_back(&layer.constant(bias));
  const Node& node = layer.node("quench.QConv", {{"group", std::int64_t{2}},
                                                 {"strides", std::vector<std::int64_t>{2, 1}},
                                                 {"pads", std::vector<std::int64_t>{1, 0, 1, 2}},
                                                 {"requantize", std::string("half_up")},
                                                 {"multiplier_bits", std::int64_t{11}},
                                                 {"clip_min", 0.0},
                                                 {"activation", std::string("Relu")}});
  const IntegerForm form = integer_form(node);
  EXPECT_EQ(form.slots, (std::vector<int>{0, 3}));
  EXPECT_EQ(form.bias_slot, 8);
  EXPECT_EQ(form.arithmetic.multiplier_bits, 11);
  EXPECT_EQ(float_op(node), "Conv");
  const Output y{kY, {Requantize::kHalfUp, 11}, {.min = 0.0F}};
  const at::Tensor expected = integer_conv({x, kX}, {w, w_type}, bias, {{2, 1}, {1, 0, 1, 2}, {}}, 2, y);
  const at::Tensor found = layer.run();
  EXPECT_TRUE(at::equal(found, expected));
  EXPECT_EQ(found.min().item<int>(), -20) << "clipped at zero";
}

TEST(Integer, ConvTransposeFindsItsOutputPadding) {
  at::manual_seed(2);
  const QType w_type = channel_type("int8 symmetric channel:1", 3, 0.01F);
  const at::Tensor x = random_codes({1, 4, 5, 5}, kX.scheme), w = random_codes({4, 3, 3, 3}, w_type.scheme);
  OneLayer layer;
  layer.operand(x, kX);
  layer.operand(w, w_type, true);
  layer.params(kY);
  layer.node("quench.QConvTranspose", {{"strides", std::vector<std::int64_t>{2, 2}},
                                       {"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                                       {"output_padding", std::vector<std::int64_t>{1, 1}},
                                       {"requantize", std::string("float")}});
  const Output y{kY, {Requantize::kFloat}, {}};
  const TransposedWindow window{{{2, 2}, {1, 1, 1, 1}, {}}, {1, 1}};
  EXPECT_TRUE(at::equal(layer.run(), integer_conv_transpose({x, kX}, {w, w_type}, {}, window, 1, y)));
}

TEST(Integer, ProductsOfMatrices) {
  at::manual_seed(3);
  const QType w_type = channel_type("int8 symmetric channel:0", 5, 0.01F);
  const at::Tensor a = random_codes({4, 8}, kX.scheme), w = random_codes({5, 8}, w_type.scheme);
  const Output y{kY, {Requantize::kMlas}, {}};
  OneLayer gemm;
  gemm.operand(a, kX);
  gemm.operand(w, w_type, true);
  gemm.params(kY);
  gemm.node("quench.QGemm", {{"transB", std::int64_t{1}}, {"requantize", std::string("mlas")}});
  EXPECT_TRUE(at::equal(gemm.run(), integer_gemm({a, kX}, {w, w_type}, {}, {false, true}, y)));

  const at::Tensor left = random_codes({2, 3, 4, 8}, kX.scheme), right = random_codes({3, 8, 6}, kY.scheme);
  OneLayer both;  // two activations
  both.operand(left, kX);
  both.operand(right, kY);
  both.params(kY);
  both.node("quench.QMatMul", {{"requantize", std::string("mlas")}});
  EXPECT_TRUE(at::equal(both.run(), integer_matmul({left, kX}, {right, kY}, {}, y)));
}

TEST(Integer, AddMulAndConcat) {
  at::manual_seed(4);
  const QType wide = type_of("int16 symmetric tensor", 0.001F);
  const at::Tensor a = random_codes({2, 3, 4}, kX.scheme), b = random_codes({3, 1}, kY.scheme);
  const auto run = [&](const char* op, const at::Tensor& right, const QType& y, const Attrs& more = {}) {
    OneLayer layer;
    layer.operand(a, kX);
    layer.operand(right, kY);
    layer.params(y);
    Attrs attrs = more;
    attrs["requantize"] = std::string("affine");
    layer.node(op, attrs);
    return layer.run();
  };
  const Output y{wide, {Requantize::kAffine}, {}};
  EXPECT_TRUE(at::equal(run("quench.QAdd", b, wide), integer_add({a, kX}, {b, kY}, y)));
  EXPECT_TRUE(at::equal(run("quench.QMul", b, wide), integer_mul({a, kX}, {b, kY}, y)));
  const at::Tensor c = random_codes({2, 3, 2}, kY.scheme);
  const at::Tensor joined = run("quench.QConcat", c, kY, {{"axis", std::int64_t{-1}}});
  EXPECT_TRUE(at::equal(joined.narrow(2, 4, 2), c)) << "what has the result's type passes";
}

TEST(Integer, Pools) {
  at::manual_seed(5);
  const at::Tensor x = random_codes({2, 3, 7, 7}, kX.scheme);
  const auto run = [&](const char* op, const Attrs& attrs) {
    OneLayer layer;
    layer.operand(x, kX);
    layer.params(kY);
    layer.node(op, attrs).attrs["requantize"] = std::string("tflite");
    return layer.run();
  };
  const Output y{kY, {Requantize::kTflite}, {}};
  EXPECT_TRUE(at::equal(run("quench.QGlobalAveragePool", {}), integer_global_average_pool({x, kX}, y)));
  const at::Tensor pooled = run("quench.QAveragePool", {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                                                        {"strides", std::vector<std::int64_t>{2, 2}},
                                                        {"ceil_mode", std::int64_t{1}}});
  EXPECT_TRUE(at::equal(pooled, integer_average_pool({x, kX}, {{3, 3}, {{2, 2}, {}, {}}, true, false}, y)));
}

TEST(Integer, TableTakesTheEntryOfACode) {
  const QType narrow = type_of("int4 symmetric tensor", 0.5F);
  const at::Tensor x = at::tensor({-8, -1, 0, 7}).to(at::kChar), table = at::arange(16, at::kInt).to(at::kByte) * 3;
  OneLayer layer;
  layer.fed.emplace_back(x);
  layer.inputs = {&layer.graph.add_input("x", layer.fed[0].type()), &layer.constant(table)};
  layer.params(narrow);
  layer.params(kX);
  layer.node("quench.QTable");
  EXPECT_TRUE(at::equal(layer.run(), at::tensor({0, 21, 24, 45}).to(at::kByte)));
}

TEST(Integer, QuantizeAndDequantizeTakeAnyScheme) {
  at::manual_seed(6);
  const at::Tensor x = at::randn({4, 3, 2});
  for (const char* scheme :
       {"uint8 affine tensor", "int4 symmetric channel:1", "int16 symmetric tensor", "e4m3fn tensor"}) {
    const bool per_channel = std::string(scheme).find("channel") != std::string::npos;
    const QType type = per_channel ? channel_type(scheme, 3, 0.1F) : type_of(scheme, 0.01F, scheme[0] == 'u' ? 7 : 0);
    Graph graph;
    Value& input = graph.add_input("x", RtValue(x).type());
    Value& scale = graph.add_constant("s", at::tensor(at::ArrayRef<float>(type.params.scale)));
    Value& zero = graph.add_constant("z", at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)));
    Node& quantize = graph.add("quench.Quantize", "q", {&input, &scale, &zero});
    quantize.attrs = {{"scheme", std::string(scheme)}, {"by", std::string("reciprocal")}};
    Node& back = graph.add("quench.Dequantize", "d", {&quantize.output(), &scale, &zero});
    back.attrs = {{"scheme", std::string(scheme)}};
    graph.add_output(quantize.output());
    graph.add_output(back.output());
    infer_shapes(graph);
    const std::vector<RtValue> y = Executor(graph).run({RtValue(x)});
    EXPECT_TRUE(at::equal(y[0].tensor(), quantize_reference(x, type, QuantizeBy::kReciprocal))) << scheme;
    EXPECT_TRUE(at::equal(y[1].tensor(), fake_quantize_reference(x, type, QuantizeBy::kReciprocal))) << scheme;
    EXPECT_EQ(quantize.output().type().text(), y[0].type().text()) << scheme;
  }
}

TEST(Integer, SaysWhatDoesNotFit) {
  const at::Tensor x = random_codes({2, 3}, kX.scheme);
  OneLayer layer;
  layer.operand(x, kX);
  layer.operand(x, kX);
  layer.params(kY);
  Node& node = layer.node("quench.QAdd");
  EXPECT_ERROR(integer_form(node), "unknown requantization rule ''");
  node.attrs["requantize"] = std::string("mlas");
  EXPECT_EQ(integer_form(node).bias_slot, -1);
  node.attrs.erase("schemes");
  EXPECT_ERROR(integer_form(node), "must name one scheme for each operand and one for the result, it has 0");
  node.attrs["schemes"] = layer.schemes;
  layer.graph.set_input(node, 1, layer.inputs[0]);
  EXPECT_ERROR(integer_form(node), "input 1, a scale, must be a constant");
}

}  // namespace
}  // namespace quench
