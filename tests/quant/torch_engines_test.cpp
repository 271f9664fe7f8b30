// The rules `fbgemm` and `qnnpack` against LibTorch's own quantized operators, code by code. docs/numerics.md 11.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <iostream>

#include "quant/accumulator.h"
#include "quant/integer_cases.h"

namespace quench {
namespace {

bool use_engine(at::QEngine engine) {
  const auto& all = at::globalContext().supportedQEngines();
  if (std::find(all.begin(), all.end(), engine) == all.end()) return false;
  at::globalContext().setQEngine(engine);
  return true;
}

c10::IValue call(const char* name, const char* overload, std::vector<c10::IValue> arguments) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  op.callBoxed(&arguments);
  return arguments.at(0);
}

at::Tensor as_quantized(const at::Tensor& codes, const QType& type) {
  if (type.scheme.per_tensor()) {
    const at::Tensor bytes = codes.contiguous();
    return at::_make_per_tensor_quantized_tensor(bytes, static_cast<double>(type.params.scale[0]),
                                                 type.params.zero_point[0]);
  }
  const at::Tensor scales = at::tensor(at::ArrayRef<float>(type.params.scale)).to(at::kDouble);
  const at::Tensor zeros = at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)).to(at::kLong);
  return at::_make_per_channel_quantized_tensor(codes.contiguous(), scales, zeros, 0);
}

struct Count {
  std::int64_t codes = 0, different = 0, largest = 0;
};
Count compare(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor apart = (a.to(at::kInt) - b.to(at::kInt)).abs();
  return {apart.numel(), apart.ne(0).sum().item<std::int64_t>(), apart.max().item<std::int64_t>()};
}

struct Layer {
  QType x_type, w_type, y_type;
  at::Tensor x, w, bias;  // bias in float
};

Layer layer(bool has_bias, const char* x_scheme, const char* w_scheme, std::vector<std::int64_t> x_sizes,
            std::vector<std::int64_t> w_sizes) {
  at::manual_seed(7);
  const QScheme w = QScheme::parse(w_scheme);
  Layer made{type_of(x_scheme, 0.0173F, 61),
             w.per_tensor() ? type_of(w_scheme, 0.0031F) : channel_type(w_scheme, w_sizes[0], 0.0031F),
             type_of("uint8 affine tensor", 0.0459F, 33),
             {},
             {},
             {}};
  made.x = random_codes(x_sizes, made.x_type.scheme);
  made.w = random_codes(w_sizes, made.w_type.scheme);
  if (has_bias) made.bias = at::randn({w_sizes[0]});
  return made;
}

at::Tensor int32_bias(const Layer& made, QuantizeBy by) {
  if (!made.bias.defined()) return {};
  const std::vector<float> bias(made.bias.const_data_ptr<float>(),
                                made.bias.const_data_ptr<float>() + made.bias.numel());
  return at::tensor(
      at::ArrayRef<std::int32_t>(quantize_bias(bias, made.x_type.params.scale[0], made.w_type.params.scale, by)));
}

c10::IValue optional_bias(const Layer& made) { return made.bias.defined() ? c10::IValue(made.bias) : c10::IValue(); }

QuantizeBy division_of(Requantize rule) {
  return rule == Requantize::kQnnpack ? QuantizeBy::kReciprocal : QuantizeBy::kDivision;
}

Count conv(const Layer& made, Requantize rule) {
  const c10::List<std::int64_t> ones({1, 1});
  const c10::IValue packed = call("quantized::conv2d_prepack", "",
                                  {as_quantized(made.w, made.w_type), optional_bias(made), ones, ones, ones, 1});
  const c10::IValue y = call("quantized::conv2d", "new",
                             {as_quantized(made.x, made.x_type), packed,
                              static_cast<double>(made.y_type.params.scale[0]), made.y_type.params.zero_point[0]});
  const at::Tensor ours =
      integer_conv({made.x, made.x_type}, {made.w, made.w_type}, int32_bias(made, division_of(rule)),
                   {{1, 1}, {1, 1, 1, 1}, {}}, 1, {made.y_type, {rule}, {}});
  return compare(ours, y.toTensor().int_repr());
}

Count linear(const Layer& made, Requantize rule) {
  const c10::IValue packed =
      call("quantized::linear_prepack", "", {as_quantized(made.w, made.w_type), optional_bias(made)});
  const c10::IValue y = call("quantized::linear", "",
                             {as_quantized(made.x, made.x_type), packed,
                              static_cast<double>(made.y_type.params.scale[0]), made.y_type.params.zero_point[0]});
  const at::Tensor ours = integer_gemm({made.x, made.x_type}, {made.w, made.w_type},
                                       int32_bias(made, division_of(rule)), {false, true}, {made.y_type, {rule}, {}});
  return compare(ours, y.toTensor().int_repr());
}

Count add(Requantize rule) {
  at::manual_seed(8);
  const QType a = type_of("uint8 affine tensor", 0.0173F, 61), b = type_of("uint8 affine tensor", 0.0211F, 140);
  const QType y = type_of("uint8 affine tensor", 0.0297F, 77);
  const at::Tensor left = random_codes({4, 64, 32, 32}, a.scheme), right = random_codes({4, 64, 32, 32}, b.scheme);
  const c10::IValue sum = call(
      "quantized::add", "",
      {as_quantized(left, a), as_quantized(right, b), static_cast<double>(y.params.scale[0]), y.params.zero_point[0]});
  return compare(integer_add({left, a}, {right, b}, {y, {rule}, {}}), sum.toTensor().int_repr());
}

void expect_equal(const Count& found, const char* what) {
  EXPECT_EQ(found.different, 0) << what << ": of " << found.codes << ", by at most " << found.largest;
}

// PyTorch keeps the bias of FBGEMM in float; ours is rounded to the accumulator's step, at most half of it away.
void expect_near(const Count& found, const char* what) {
  std::cout << "  " << what << ": " << found.different << " of " << found.codes << " codes differ\n";
  EXPECT_LE(found.largest, 1) << what;
  EXPECT_LT(static_cast<double>(found.different), 2e-3 * static_cast<double>(found.codes)) << what;
}

constexpr const char* kBytes = "uint8 affine tensor";
constexpr const char* kSevenBits = "uint7 affine tensor";

TEST(TorchEngines, Fbgemm) {
  if (!use_engine(at::QEngine::FBGEMM)) GTEST_SKIP() << "LibTorch has no FBGEMM here";
  const char* weights = "int8 symmetric channel:0";
  expect_equal(conv(layer(false, kSevenBits, weights, {2, 16, 20, 20}, {32, 16, 3, 3}), Requantize::kFbgemm), "Conv");
  expect_equal(linear(layer(false, kSevenBits, weights, {64, 128}, {96, 128}), Requantize::kFbgemm), "Gemm");
  expect_near(conv(layer(true, kSevenBits, weights, {2, 16, 20, 20}, {32, 16, 3, 3}), Requantize::kFbgemm),
              "Conv with a bias");
  expect_near(linear(layer(true, kSevenBits, weights, {64, 128}, {96, 128}), Requantize::kFbgemm), "Gemm with a bias");
  expect_equal(add(Requantize::kFbgemm), "Add");
}

TEST(TorchEngines, Qnnpack) {
  if (!use_engine(at::QEngine::QNNPACK)) GTEST_SKIP() << "LibTorch has no QNNPACK here";
  const char* weights = "int8 symmetric tensor";
  for (const bool bias : {false, true}) {
    expect_equal(conv(layer(bias, kBytes, weights, {2, 16, 20, 20}, {32, 16, 3, 3}), Requantize::kQnnpack), "Conv");
    expect_equal(linear(layer(bias, kBytes, weights, {64, 128}, {96, 128}), Requantize::kQnnpack), "Gemm");
  }
  expect_equal(add(Requantize::kQnnpack), "Add");
}

// A ratio of scales and a product with the reciprocal are often one bit apart, which moves a code in a few hundred
// thousand. Here are all products of two codes, at scales of y where one of them tells the two apart.
TEST(TorchEngines, QnnpackMultipliesByTheReciprocalOfTheScale) {
  if (!use_engine(at::QEngine::QNNPACK)) GTEST_SKIP() << "LibTorch has no QNNPACK here";
  Layer made = layer(false, kBytes, "int8 symmetric tensor", {256, 1}, {255, 1});
  made.x = at::arange(256, at::kInt).to(at::kByte).view({256, 1});
  made.w = at::arange(-127, 128, at::kInt).to(at::kChar).view({255, 1});
  const float step = made.x_type.params.scale[0] * made.w_type.params.scale[0];
  const at::Tensor sums = (made.x.to(at::kFloat) - made.x_type.params.zero_point[0]).matmul(made.w.to(at::kFloat).t());
  int found = 0;
  for (int i = 0; i < 2000 && found < 5; ++i) {
    const float scale = 0.011F + 1e-6F * static_cast<float>(i);
    if (at::equal((sums * (step / scale)).round(), (sums * (step * (1.0F / scale))).round())) continue;
    ++found;
    made.y_type.params.scale[0] = scale;
    expect_equal(linear(made, Requantize::kQnnpack), "Gemm");
    EXPECT_GT(linear(made, Requantize::kMlas).different, 0) << "at scale " << scale;
  }
  EXPECT_EQ(found, 5);
}

// Without products, and with y in steps of the accumulator, what comes out are the codes of the biases. Those that lie
// between two codes by a hair tell a product with the reciprocal from a division.
TEST(TorchEngines, QnnpackQuantizesBiasesByTheReciprocal) {
  if (!use_engine(at::QEngine::QNNPACK)) GTEST_SKIP() << "LibTorch has no QNNPACK here";
  Layer made = layer(false, kBytes, "int8 symmetric tensor", {1, 1}, {1, 1});
  made.x.fill_(made.x_type.params.zero_point[0]);
  const float step = made.x_type.params.scale[0] * made.w_type.params.scale[0];
  made.y_type.params.scale[0] = step;
  int found = 0;
  for (int i = -30; i < 200; ++i) {
    const float bias = (static_cast<float>(i) + 0.5F) * step;
    for (const float near : {std::nextafter(bias, -1.0F), bias, std::nextafter(bias, 1.0F)}) {
      if (std::rint(near * (1.0F / step)) == std::rint(static_cast<double>(near) / step)) continue;
      ++found;
      made.bias = at::full({1}, near);
      expect_equal(linear(made, Requantize::kQnnpack), "Gemm");
      EXPECT_EQ(linear(made, Requantize::kMlas).different, 1) << near;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(TorchEngines, Onednn) {
  if (!use_engine(at::QEngine::ONEDNN)) GTEST_SKIP() << "LibTorch has no oneDNN engine here";
  const char* weights = "int8 symmetric channel:0";
  expect_near(conv(layer(true, kBytes, weights, {2, 16, 20, 20}, {32, 16, 3, 3}), Requantize::kAffine),
              "oneDNN's Conv");
  expect_near(linear(layer(true, kBytes, weights, {64, 128}, {96, 128}), Requantize::kAffine), "oneDNN's Gemm");
}

}  // namespace
}  // namespace quench
