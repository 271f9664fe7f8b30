// The loops on bfloat16 against those on the same numbers in float32, on every instruction set that this machine has.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/affine/bfloat16.h"
#include "kernels/affine/learned.h"
#include "kernels/simd/simd.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using at::Tensor;

// Several blocks and a rest, in the layout of images.
Tensor images() {
  at::manual_seed(6);
  return at::randn({3, 16, 21, 33}).to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
}

struct Case {
  const char* scheme;
  float zero_point;
};

template <class Body>
void everywhere(const Body& body) {
  const SimdChoices choices = simd_choices();
  const Tensor scale = at::full({}, 0.17F);
  for (const Case& one : {Case{"int4 symmetric tensor", 0.0F}, Case{"uint4 affine tensor", 5.0F}}) {
    const QScheme scheme = QScheme::parse(one.scheme);
    const Tensor zero = at::full({}, one.zero_point);
    for (const QuantizeBy by : {QuantizeBy::kReciprocal, QuantizeBy::kDivision})
      for (int k = 0; k < choices.count; ++k) {
        SCOPED_TRACE(std::string(one.scheme) + ", " + name_of(by) + ", " + choices.loops[k]->name);
        force_simd(choices.loops[k]);
        body(AffineArgs{scale, zero, scheme, by});
      }
  }
  force_simd(nullptr);
}

void expect_narrowed(const Tensor& narrow, const Tensor& wide) {
  EXPECT_EQ(narrow.scalar_type(), at::kBFloat16);
  EXPECT_EQ(narrow.strides(), wide.strides());
  EXPECT_TRUE(at::equal(narrow, wide.to(at::kBFloat16)));
}

TEST(Bfloat16Loops, RoundTheResultsOfFloat32) {
  const Tensor x = images(), dy = at::randn_like(x), wide = x.to(at::kFloat), wide_dy = dy.to(at::kFloat);
  everywhere([&](const AffineArgs& args) {
    expect_narrowed(fake_quantize(x, args), fake_quantize(wide, args));
    Tensor y, mask, wide_y, wide_mask;
    fake_quantize_masked(x, args, y, mask);
    fake_quantize_masked(wide, args, wide_y, wide_mask);
    expect_narrowed(y, wide_y);
    EXPECT_TRUE(at::equal(mask, wide_mask));
    expect_narrowed(masked_gradient(dy, mask), masked_gradient(wide_dy, wide_mask));
    expect_narrowed(dsq_backward(dy, x, args, 0.3), dsq_backward(wide_dy, wide, args, 0.3));
  });
}

TEST(Bfloat16Loops, AddUpInFloat32) {
  const Tensor x = images(), dy = at::randn_like(x), wide = x.to(at::kFloat), wide_dy = dy.to(at::kFloat);
  everywhere([&](const AffineArgs& args) {
    Tensor dx, ds, dz, wide_dx, wide_ds, wide_dz;
    lsq_backward(dy, x, args, dx, ds, dz);
    lsq_backward(wide_dy, wide, args, wide_dx, wide_ds, wide_dz);
    expect_narrowed(dx, wide_dx);
    EXPECT_EQ(ds.scalar_type(), at::kFloat);
    // Sums of 33264 terms of at most 40, in float within 4096 of them.
    EXPECT_NEAR(ds.item<double>(), wide_ds.item<double>(), 1e-2);
    EXPECT_NEAR(dz.item<double>(), wide_dz.item<double>(), 1e-2);
    EXPECT_GT(std::abs(wide_ds.item<double>()), 1.0) << "shows nothing";
  });
}

TEST(Bfloat16Loops, TakeAGradientOfAnotherLayout) {
  const Tensor x = images(), dy = at::randn_like(x), scale = at::full({}, 0.17F), zero = at::zeros({});
  const QScheme scheme = QScheme::parse("int4 symmetric tensor");
  Tensor dx, ds, dz, same, same_ds, same_dz;
  lsq_backward(dy, x, {scale, zero, scheme}, dx, ds, dz);
  lsq_backward(dy.contiguous(), x, {scale, zero, scheme}, same, same_ds, same_dz);
  EXPECT_TRUE(at::equal(dx, same));
  EXPECT_TRUE(at::equal(ds, same_ds));
  EXPECT_ERROR(lsq_backward(dy[0], x, {scale, zero, scheme}, dx, ds, dz), "must have one shape");
}

TEST(Bfloat16Loops, NarrowAsLibTorchDoes) {
  const float largest = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  const Tensor some = at::randn({1000}) * at::exp2(at::randint(-140, 127, {1000}).to(at::kFloat));
  // Halfway between two neighbours of 1 on either side, what lies beyond the largest; last a NaN, of which any will do.
  const Tensor special = at::tensor({1.00390625F, 1.01171875F, -1.00390625F, largest, infinity, -infinity, 0.0F, -0.0F,
                                     std::numeric_limits<float>::quiet_NaN()});
  const Tensor x = at::cat({some, special}), wanted = x.to(at::kBFloat16);
  const SimdChoices choices = simd_choices();
  for (int k = 0; k < choices.count; ++k) {
    Tensor narrow = at::empty_like(wanted), wide = at::empty_like(x);
    auto* bits = static_cast<std::uint16_t*>(narrow.data_ptr());
    choices.loops[k]->narrow_to_bfloat16(x.const_data_ptr<float>(), x.numel(), bits);
    choices.loops[k]->widen_bfloat16(bits, x.numel(), wide.mutable_data_ptr<float>());
    const auto numbers = [&](const Tensor& all) { return all.slice(0, 0, x.numel() - 1); };
    const Tensor expected = numbers(wanted);
    EXPECT_TRUE(at::equal(numbers(narrow).view(at::kShort), expected.view(at::kShort))) << choices.loops[k]->name;
    EXPECT_TRUE(at::equal(numbers(wide).view(at::kInt), expected.to(at::kFloat).view(at::kInt)));
    EXPECT_TRUE(std::isnan(wide[-1].item<float>())) << choices.loops[k]->name;
  }
}

TEST(Bfloat16Loops, AreForOneScaleOnDenseTensors) {
  const Tensor x = images(), one = at::ones({}), sixteen = at::ones({16});
  const QScheme scheme = QScheme::parse("int8 symmetric channel:1");
  EXPECT_TRUE(has_bfloat16_loops(x, {one, one, scheme}));
  EXPECT_FALSE(has_bfloat16_loops(x, {sixteen, sixteen, scheme}));
  EXPECT_FALSE(has_bfloat16_loops(x.slice(3, 0, 8), {one, one, scheme}));
  EXPECT_FALSE(has_bfloat16_loops(x.to(at::kFloat), {one, one, scheme}));
}

}  // namespace
}  // namespace quench
