// Integer execution against the simulation of it: x and w fake-quantized in float, the op in float64, the bias at
// s_x * s_w, then the codes of the result. docs/numerics.md 11.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "quant/accumulator.h"
#include "quant/integer_cases.h"

namespace quench {
namespace {

constexpr double kNear = 1e-3;  // steps from a tie within which the codes may differ by one

struct Layer {
  at::Tensor x, w, bias;  // float
  QType x_type, w_type, y_type;
  at::Tensor xq, wq, bq, b_steps;  // codes; the bias as it is simulated, float64
};

QParams range_of(const QScheme& scheme, const at::Tensor& x) {
  const at::Tensor low = scheme.per_tensor() ? x.min() : x.flatten(1).amin(1);
  const at::Tensor high = scheme.per_tensor() ? x.max() : x.flatten(1).amax(1);
  const auto list = [](const at::Tensor& t) {
    const at::Tensor flat = t.reshape({-1}).contiguous();
    return std::vector<float>(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
  };
  return qparams_of_range(scheme, list(low), list(high));
}

Layer make_layer(at::IntArrayRef x_sizes, at::IntArrayRef w_sizes, const char* x_scheme, const char* w_scheme) {
  Layer layer;
  const auto channels = w_sizes[0];
  layer.x = at::randn(x_sizes);
  std::vector<std::int64_t> column(w_sizes.size(), 1);
  column[0] = channels;
  layer.w = at::randn(w_sizes) * 0.1 * (at::rand(column) + 0.5);
  layer.bias = at::randn({channels});
  layer.x_type.scheme = QScheme::parse(x_scheme);
  layer.x_type.params = range_of(layer.x_type.scheme, layer.x);
  layer.w_type.scheme = QScheme::parse(w_scheme);
  layer.w_type.params = range_of(layer.w_type.scheme, layer.w);
  layer.xq = quantize_reference(layer.x, layer.x_type);
  layer.wq = quantize_reference(layer.w, layer.w_type);
  const std::vector<float> bias(layer.bias.const_data_ptr<float>(), layer.bias.const_data_ptr<float>() + channels);
  const float s_x = layer.x_type.params.scale[0];
  layer.bq = at::tensor(at::ArrayRef<std::int32_t>(quantize_bias(bias, s_x, layer.w_type.params.scale)));
  const at::Tensor s_w = at::tensor(at::ArrayRef<float>(layer.w_type.params.scale));
  layer.b_steps = layer.bq.to(at::kDouble) * (s_x * s_w).to(at::kDouble);
  return layer;
}

// Where a runtime rounds twice, its first rounding (to 2^-right steps) moves the ties by half of that.
double tie_width(const Layer& layer, Requantize rule) {
  double width = kNear;
  if (rule == Requantize::kTflite)
    for (const float s_w : layer.w_type.params.scale) {
      const double m = static_cast<double>(layer.x_type.params.scale[0]) * s_w / layer.y_type.params.scale[0];
      const int right = fixed_point(m).shift - 31;
      if (right > 0) width = std::max(width, kNear + std::ldexp(0.5, -right));
    }
  return width;
}

// How far the simulation itself is off: each fake-quantized operand is rounded to float32 (2^-24), so a sum is off
// by at most 2 * 2^-24 * sum|x w|; float32 rules add 5 * 2^-24 * (|v| + |z|) (see requantize_test).
void check_error_is_below(const at::Tensor& magnitudes, const Layer& layer) {
  const double steps = magnitudes.max().item<double>() / layer.y_type.params.scale[0];
  ASSERT_LT(2 * 0x1p-24 * steps + 5 * 0x1p-24 * 512, kNear);
}

// Counts codes that differ; none may outside of ties, and none by more than one.
void compare(const at::Tensor& codes, const at::Tensor& simulated, const Layer& layer, Requantize rule,
             const char* what) {
  const OutputCodes y = output_codes(layer.y_type, {rule});
  const at::Tensor steps = simulated / static_cast<double>(y.scale);
  const at::Tensor expected = (steps.round() + y.zero_point).clamp(y.low, y.high).to(at::kLong);
  const at::Tensor near = ((steps - steps.floor()) - 0.5).abs() <= tie_width(layer, rule);
  const at::Tensor difference = (codes.to(at::kLong) - expected).abs();
  const auto off = (difference > 0).sum().item<std::int64_t>();
  EXPECT_EQ(((difference > 0) & ~near).sum().item<std::int64_t>(), 0) << what << " " << name_of(rule);
  EXPECT_LE(difference.max().item<std::int64_t>(), 1) << what << " " << name_of(rule);
  EXPECT_GT(expected.max().item<int>() - expected.min().item<int>(), 50) << what;
  std::cout << "  " << what << " " << name_of(rule) << ": " << near.sum().item<std::int64_t>() << " of "
            << codes.numel() << " codes within " << tie_width(layer, rule) << " of a tie, " << off << " differ\n";
}

struct ConvCase {
  std::vector<std::int64_t> x, w;
  const char *x_scheme, *w_scheme, *y_scheme;
  std::int64_t stride, pad, groups;
};

TEST(Simulation, ConvEqualsIntegerExecution) {
  at::manual_seed(1);
  const ConvCase cases[] = {{{2, 16, 16, 16},
                             {16, 16, 3, 3},
                             "uint8 affine tensor",
                             "int8 symmetric channel:0",
                             "uint8 affine tensor",
                             1,
                             1,
                             1},
                            {{2, 32, 9, 9},
                             {32, 1, 3, 3},
                             "int8 symmetric tensor",
                             "int8 affine channel:0",
                             "int8 symmetric tensor",
                             2,
                             1,
                             32},
                            {{2, 12, 8, 8},
                             {24, 6, 1, 1},
                             "uint8 affine tensor",
                             "int8 symmetric tensor narrow",
                             "uint8 affine tensor",
                             1,
                             0,
                             2},
                            {{1, 8, 12, 12},
                             {8, 8, 5, 5},
                             "uint4 affine tensor",
                             "int4 symmetric channel:0",
                             "uint8 affine tensor",
                             1,
                             2,
                             1}};
  for (const ConvCase& c : cases) {
    Layer layer = make_layer(c.x, c.w, c.x_scheme, c.w_scheme);
    const std::vector<std::int64_t> stride(2, c.stride), pad(2, c.pad), one(2, 1), zero(2, 0), pads(4, c.pad);
    const at::Tensor x = fake_quantize_reference(layer.x, layer.x_type).to(at::kDouble);
    const at::Tensor w = fake_quantize_reference(layer.w, layer.w_type).to(at::kDouble);
    const at::Tensor y = at::convolution(x, w, layer.b_steps, stride, pad, one, false, zero, c.groups);
    layer.y_type.scheme = QScheme::parse(c.y_scheme);
    layer.y_type.params = range_of(layer.y_type.scheme, y.to(at::kFloat));
    check_error_is_below(at::convolution(x.abs(), w.abs(), {}, stride, pad, one, false, zero, c.groups), layer);
    for (const Requantize rule : kAllRules)
      compare(integer_conv({layer.xq, layer.x_type}, {layer.wq, layer.w_type}, layer.bq, {stride, pads, {}}, c.groups,
                           {layer.y_type, {rule}, {}}),
              y, layer, rule, "Conv");
  }
}

TEST(Simulation, GemmEqualsIntegerExecution) {
  at::manual_seed(2);
  for (const char* w_scheme : {"int8 symmetric channel:0", "int8 symmetric tensor"}) {
    Layer layer = make_layer({64, 96}, {40, 96}, "uint8 affine tensor", w_scheme);
    const at::Tensor x = fake_quantize_reference(layer.x, layer.x_type).to(at::kDouble);
    const at::Tensor w = fake_quantize_reference(layer.w, layer.w_type).to(at::kDouble);
    const at::Tensor y = at::matmul(x, w.t()) + layer.b_steps;
    layer.y_type.scheme = QScheme::parse("int8 affine tensor");
    layer.y_type.params = range_of(layer.y_type.scheme, y.to(at::kFloat));
    check_error_is_below(at::matmul(x.abs(), w.abs().t()), layer);
    for (const Requantize rule : kAllRules)
      compare(integer_gemm({layer.xq, layer.x_type}, {layer.wq, layer.w_type}, layer.bq, {false, true},
                           {layer.y_type, {rule}, {}}),
              y, layer, rule, "Gemm");
  }
}

}  // namespace
}  // namespace quench
