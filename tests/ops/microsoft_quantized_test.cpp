// The arithmetic is that of quant/integer_ops.h, which is held against ONNX Runtime in tests/quant; here: that each
// operator finds its operands, scales and attributes, and its shape.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor codes(at::IntArrayRef sizes, std::int64_t seed) {
  const at::Tensor places = at::arange(at::empty(sizes).numel(), at::kLong) * 7919 + seed;
  return (places % 256).to(at::kByte).reshape(sizes);
}
at::Tensor scale(double value) { return at::tensor(static_cast<float>(value)); }
at::Tensor zero(int code) { return at::tensor(code).to(at::kByte); }
at::Tensor real(const at::Tensor& x, double s, int z) { return (x.to(at::kFloat) - z) * static_cast<float>(s); }

// The float result in steps of y, rounded; the two may fall to different sides of a tie, so one code is allowed.
void expect_codes(const at::Tensor& found, const at::Tensor& value, double s, int z) {
  ASSERT_EQ(found.scalar_type(), at::kByte);
  ASSERT_EQ(found.sizes(), value.sizes());
  const at::Tensor expected = at::clamp(at::round(value / s) + z, 0, 255);
  EXPECT_LE((found.to(at::kFloat) - expected).abs().max().item<float>(), 1.0F);
  EXPECT_GT((found != found.flatten()[0]).sum().item<std::int64_t>(), 0) << "not one code alone";
}

TEST(MicrosoftQuantized, AddAndMulBroadcast) {
  const at::Tensor a = codes({2, 3, 4}, 5), b = codes({3, 1}, 9);
  const std::vector<RtValue> in = {a, scale(0.02), zero(100), b, scale(0.03), zero(20), scale(0.05), zero(60)};
  const at::Tensor x = real(a, 0.02, 100), y = real(b, 0.03, 20);
  expect_codes(run_checked("com.microsoft.QLinearAdd", in), x + y, 0.05, 60);
  expect_codes(run_checked("com.microsoft.QLinearMul", in), x * y, 0.05, 60);
}

TEST(MicrosoftQuantized, Pools) {
  const at::Tensor x = codes({2, 3, 7, 7}, 5);
  const std::vector<RtValue> in = {x, scale(0.02), zero(100), scale(0.015), zero(110)};
  const at::Tensor value = real(x, 0.02, 100);
  expect_codes(run_checked("com.microsoft.QLinearGlobalAveragePool", in), value.mean({2, 3}, true), 0.015, 110);
  const Attrs window = {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                        {"strides", std::vector<std::int64_t>{2, 2}},
                        {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const at::Tensor pooled = at::avg_pool2d(value, {3, 3}, {2, 2}, {1, 1}, false, false);
  expect_codes(run_checked("com.microsoft.QLinearAveragePool", in, window), pooled, 0.015, 110);
}

TEST(MicrosoftQuantized, ConcatTakesTriples) {
  const at::Tensor a = codes({2, 3}, 5), b = codes({2, 4}, 9);
  const at::Tensor y = run_checked("com.microsoft.QLinearConcat",
                                   {scale(0.03), zero(90), a, scale(0.02), zero(100), b, scale(0.03), zero(90)},
                                   {{"axis", std::int64_t{-1}}});
  expect_codes(y, at::cat({real(a, 0.02, 100), real(b, 0.03, 90)}, 1), 0.03, 90);
  EXPECT_TRUE(at::equal(y.narrow(1, 3, 4), b)) << "what has the result's scale passes";
}

TEST(MicrosoftQuantized, GemmWithScalesPerColumn) {
  const at::Tensor a = codes({4, 8}, 5), b = codes({3, 8}, 9), bias = at::tensor({500, -700, 90}, at::kInt);
  const at::Tensor s = at::tensor({0.01F, 0.02F, 0.005F});
  const at::Tensor y =
      run_checked("com.microsoft.QGemm",
                  {a, scale(0.02), zero(100), b, s, at::full({3}, 120, at::kByte), bias, scale(0.5), zero(128)},
                  {{"transB", std::int64_t{1}}});
  const at::Tensor weight = (b.to(at::kFloat) - 120) * s.unsqueeze(1);
  expect_codes(y, at::matmul(real(a, 0.02, 100), weight.t()) + bias.to(at::kFloat) * 0.02F * s, 0.5, 128);
}

TEST(MicrosoftQuantized, FunctionsOfOneTensor) {
  const at::Tensor x = codes({64}, 5);
  const std::vector<RtValue> in = {x, scale(0.05), zero(128), scale(1.0 / 256), zero(0)};
  expect_codes(run_checked("com.microsoft.QLinearSigmoid", in), at::sigmoid(real(x, 0.05, 128)), 1.0 / 256, 0);
  const std::vector<RtValue> leaky = {x, scale(0.05), zero(128), scale(0.05), zero(50)};
  expect_codes(run_checked("com.microsoft.QLinearLeakyRelu", leaky, {{"alpha", 0.25}}),
               at::leaky_relu(real(x, 0.05, 128), 0.25), 0.05, 50);
}

TEST(MicrosoftQuantized, RefusesWhatItDoesNotKnow) {
  const at::Tensor x = codes({1, 2, 3, 3}, 5);
  EXPECT_ERROR(run_checked("com.microsoft.QLinearGlobalAveragePool", {x, scale(0.02), zero(1), scale(0.1), zero(2)},
                           {{"channels_last", std::int64_t{1}}}),
               "channels_last must be 0");
  EXPECT_ERROR(run_checked("com.microsoft.QLinearAdd",
                           {x, at::tensor({0.1F, 0.2F}), RtValue(), x, scale(0.1), RtValue(), scale(0.1), zero(2)}),
               "input 1 has 2 scales");
}

// The values are compared with ONNX Runtime's in tests/import/upgrade_microsoft_test.cpp; here what is refused.
TEST(MicrosoftQuantized, RefusesGroupsAndFactorsOutOfRange) {
  const Attrs attrs = {{"K", std::int64_t{16}}, {"N", std::int64_t{1}}, {"block_size", std::int64_t{16}}};
  const auto product = [&](const at::Tensor& groups) {
    return error_of({.op = "com.microsoft.MatMulNBits", .attrs = attrs},
                    {at::ones({1, 16}), codes({1, 1, 8}, 3), at::ones({1}), RtValue(), groups});
  };
  EXPECT_EQ(product(at::zeros({16}, at::kInt)), "");
  EXPECT_NE(product(at::ones({16}, at::kInt)).find("g_idx names blocks from 1 to 1; there are 1"), std::string::npos);
  EXPECT_NE(product(at::zeros({8}, at::kInt)).find("names blocks for 8 columns, K is 16"), std::string::npos);
  const std::vector<RtValue> factors = {codes({2, 3}, 1), scale(0.1), zero(0), codes({3, 2}, 2), scale(0.1), zero(0)};
  EXPECT_NE(error_of({.op = "com.microsoft.QGemm", .attrs = {{"alpha", -1.0}}}, factors).find("alpha must be above 0"),
            std::string::npos);
}

// Four bits: byte 0x21 holds the codes 1 and 2.
TEST(MatMulNBits, UnpacksBlocks) {
  const std::int64_t k = 20, n = 3, block = 16, blocks = 2;
  const at::Tensor bytes = codes({n, blocks, block / 2}, 3), scales = at::rand({n * blocks}) + 0.5;
  const at::Tensor a = at::randn({2, 5, k});
  const Attrs attrs = {{"K", k}, {"N", n}, {"bits", std::int64_t{4}}, {"block_size", block}};
  at::Tensor weight = at::empty({n, blocks * block});
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t i = 0; i < blocks * block; ++i) {
      const int byte = bytes.flatten()[row * blocks * block / 2 + i / 2].item<int>();
      weight[row][i] = ((i % 2 == 0 ? byte & 15 : byte >> 4) - 8) * scales[row * blocks + i / block].item<float>();
    }
  const at::Tensor expected = at::matmul(a, weight.narrow(1, 0, k).t());
  // Sums of 20 products below 8 * 1.5 * 4 in another order: each rounds by at most 2^-24 of some hundreds.
  EXPECT_TRUE(at::allclose(run_checked("com.microsoft.MatMulNBits", {a, bytes, scales}, attrs), expected, 1e-5, 1e-4));
  const at::Tensor zeros = at::tensor({0x88, 0x88, 0x88}).to(at::kByte);  // 8 everywhere: the default
  EXPECT_TRUE(
      at::allclose(run_checked("com.microsoft.MatMulNBits", {a, bytes, scales, zeros}, attrs), expected, 1e-5, 1e-4));
  EXPECT_ERROR(run_checked("com.microsoft.MatMulNBits", {a, bytes.narrow(0, 0, 2), scales}, attrs),
               "codes must be 3 x 16 bytes");
}

}  // namespace
}  // namespace quench
