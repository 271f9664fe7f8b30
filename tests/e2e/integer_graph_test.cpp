// What a graph with quantizers computes is what integers compute: x -> Conv -> y, quantizers placed by
// insert_fake_quant and run by the executor in float32, against integer_conv. docs/numerics.md 11.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <iostream>

#include "quant/accumulator.h"
#include "quant/integer_ops.h"
#include "quench/executor.h"
#include "quench/fake_quant.h"
#include "quench/graph.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

constexpr double kNear = 1e-3;  // steps from a tie within which the codes may differ by one

QType ranged(const char* text, const at::Tensor& x) {
  const QScheme scheme = QScheme::parse(text);
  const at::Tensor rows = (scheme.per_tensor() ? x.reshape({1, -1}) : x.flatten(1)).contiguous();
  const at::Tensor low = rows.amin(1), high = rows.amax(1);
  const auto list = [](const at::Tensor& t) {
    return std::vector<float>(t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel());
  };
  return {scheme, qparams_of_range(scheme, list(low), list(high))};
}

at::Tensor tensor_of(const std::vector<float>& list) { return at::tensor(at::ArrayRef<float>(list)); }

struct Layer {
  at::Tensor x, w, bias;      // bias: int32 at s_x * s_w
  at::Tensor exact, reached;  // the result in float64, and the sums of magnitudes behind it
  QType x_type, w_type, y_type;

  at::Tensor bias_values() const {
    return bias.to(at::kDouble) * (static_cast<double>(x_type.params.scale[0]) * tensor_of(w_type.params.scale));
  }
};

at::Tensor convolution(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  return at::conv2d(x, w, bias, 1, 1);
}

Layer make_layer() {
  at::manual_seed(5);
  Layer layer;
  layer.x = at::randn({4, 4, 32, 32});
  layer.w = at::randn({8, 4, 3, 3}) * 0.1 * (at::rand({8, 1, 1, 1}) + 0.5);
  layer.x_type = ranged("uint8 affine tensor", layer.x);
  layer.w_type = ranged("int8 symmetric channel:0", layer.w);
  const at::Tensor bias = at::randn({8}) * 0.2;
  layer.bias = at::tensor(at::ArrayRef<std::int32_t>(
      quantize_bias(std::vector<float>(bias.const_data_ptr<float>(), bias.const_data_ptr<float>() + 8),
                    layer.x_type.params.scale[0], layer.w_type.params.scale)));
  const at::Tensor x = fake_quantize_reference(layer.x, layer.x_type).to(at::kDouble);
  const at::Tensor w = fake_quantize_reference(layer.w, layer.w_type).to(at::kDouble);
  layer.exact = convolution(x, w, layer.bias_values());
  layer.reached = convolution(x.abs(), w.abs(), layer.bias_values().abs());
  layer.y_type = ranged("uint8 affine tensor", layer.exact.to(at::kFloat));
  return layer;
}

void quantize(Graph& graph, const char* value, const QType& type, Role role) {
  FakeQuantSpec spec;
  spec.algorithm = "fixed";
  spec.scheme = type.scheme;
  spec.role = role;
  spec.by = QuantizeBy::kDivision;
  const Node& node = insert_fake_quant(graph, graph.value(value), spec, {.quantize = true});
  make_fake_quant(spec)->accept(type.params, fake_quant_tensors(node));
}

at::Tensor simulated(const Layer& layer) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {4, 4, 32, 32}));
  Value& w = graph.add_constant("w", layer.w);
  Value& bias = graph.add_constant("bias", layer.bias_values().to(at::kFloat));
  Node& conv = graph.add("Conv", "y", {&x, &w, &bias});
  conv.attrs["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  graph.add_output(conv.output());
  infer_shapes(graph);
  quantize(graph, "x", layer.x_type, Role::kActivation);
  quantize(graph, "w", layer.w_type, Role::kWeight);
  quantize(graph, "y", layer.y_type, Role::kActivation);
  graph.verify();
  return Executor(graph).run({RtValue(layer.x)})[0].tensor();
}

// tflite rounds twice and so moves ties by more: tests/quant/integer_simulation_test.cpp.
TEST(IntegerGraph, ConvEqualsIntegerExecution) {
  const Layer layer = make_layer();
  const double scale = layer.y_type.params.scale[0];
  const int zero = layer.y_type.params.zero_point[0];
  // The graph: operands rounded to float32 once each, 37 terms summed in some order, one division. The integers:
  // five roundings of results below 512 steps (requantize_test).
  const double steps = layer.reached.max().item<double>() / scale;
  ASSERT_LT((2 + 37 + 1) * 0x1p-24 * steps + 5 * 0x1p-24 * 512, kNear);
  const at::Tensor y = simulated(layer);
  const at::Tensor codes = at::round(y.to(at::kDouble) / scale).to(at::kLong) + zero;
  EXPECT_TRUE(at::equal(dequantize_reference(codes, layer.y_type), y));  // y is on the grid
  EXPECT_GT((codes.max() - codes.min()).item<int>(), 250);
  const at::Tensor open = layer.exact / scale, near = (open - at::floor(open) - 0.5).abs() <= kNear;
  const at::Tensor xq = quantize_reference(layer.x, layer.x_type), wq = quantize_reference(layer.w, layer.w_type);
  for (const Requantize rule :
       {Requantize::kMlas, Requantize::kHalfUp, Requantize::kAway, Requantize::kAffine, Requantize::kFloat}) {
    const at::Tensor integers = integer_conv({xq, layer.x_type}, {wq, layer.w_type}, layer.bias, {{}, {1, 1, 1, 1}, {}},
                                             1, {layer.y_type, {rule}, {}});
    const at::Tensor difference = (integers.to(at::kLong) - codes).abs();
    EXPECT_EQ((difference * ~near).max().item<std::int64_t>(), 0) << name_of(rule);
    EXPECT_LE(difference.max().item<std::int64_t>(), 1) << name_of(rule);
    std::cout << "  " << name_of(rule) << ": " << near.sum().item<std::int64_t>() << " of " << codes.numel()
              << " codes within " << kNear << " of a tie, " << (difference > 0).sum().item<std::int64_t>()
              << " differ\n";
  }
}

}  // namespace
}  // namespace quench
