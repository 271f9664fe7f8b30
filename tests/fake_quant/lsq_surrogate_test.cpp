// LSQ's gradients are those of a smooth function: the one that is left when the rounding offsets are frozen. Here
// they are compared with finite differences of it, in double; and, per channel, with LibTorch's kernel.
#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"

namespace quench {
namespace {

struct Case {
  const char* scheme;
  float scale, zero_point;
};

Quantizer learning(const char* scheme, const at::Tensor& scale, const at::Tensor& zero_point) {
  const char* algorithm = QScheme::parse(scheme).symmetric() ? "lsq" : "lsq_plus";
  Quantizer quantizer(spec_of(algorithm, scheme, Role::kActivation, Options({{"grad_scaling", 0.0}})),
                      {1, scale.numel()});
  quantizer.load({{"scale", scale}, {"zero_point", zero_point}, {"flags", at::tensor({0, 1}, at::kByte)}});
  return quantizer;
}

// y = (x/s + offset) s inside, (bound - z) s outside; everything frozen at s and z but where they are written.
struct Surrogate {
  at::Tensor x, dy, v, offset, bound, inside;

  Surrogate(const at::Tensor& given, const at::Tensor& gradient, const QScheme& scheme, double s, double z)
      : x(given.to(at::kDouble)), dy(gradient.to(at::kDouble)), v(x / s), offset(at::round(v) - v) {
    const at::Tensor code = at::round(v) + z;
    bound = code.clamp(scheme.qmin(), scheme.qmax());
    inside = code == bound;
  }
  double loss(double s, double z) const {
    return (at::where(inside, (x / s + offset) * s, (bound - z) * s) * dy).sum().item<double>();
  }
};

class LsqSurrogate : public testing::TestWithParam<Case> {};

TEST_P(LsqSurrogate, GradientsEqualFiniteDifferences) {
  const auto& [text, scale, zero] = GetParam();
  const QScheme scheme = QScheme::parse(text);
  const at::Tensor x = away_from_ties(sample({4, 5, 6, 7}) * 2, scale), dy = sample({4, 5, 6, 7}, 2);
  Quantizer quantizer = learning(text, at::full({}, scale), at::full({}, zero));
  quantizer(x).backward(dy);
  const double s = scale, z = std::nearbyint(zero), h = s / 16;
  const Surrogate smooth(x, dy, scheme, s, z);
  ASSERT_GT((~smooth.inside).sum().item<int>(), 10);
  // The function is linear in s and in z, so the step may be wide; then float64 is good to 2^-53 * 840 * 8 * 16 / s,
  // below 1e-9 / s. In float32 x/s has two roundings and the offset one: 3 * 2^-24 (|v| + 1) for each |dy|.
  const double ds = (smooth.loss(s + h, z) - smooth.loss(s - h, z)) / (2 * h);
  const double reach = ((smooth.v.abs() + 1) * smooth.dy.abs()).sum().item<double>();
  EXPECT_NEAR(quantizer.tensors().scale().grad().item<double>(), ds, 3 * 0x1p-24 * reach + 1e-9 / s);
  EXPECT_GT(std::abs(ds), 100 * 3 * 0x1p-24 * reach);  // else the comparison says little
  if (scheme.symmetric()) return;
  const double dz = (smooth.loss(s, z + 0.5) - smooth.loss(s, z - 0.5)) / 1;
  const double sum = smooth.dy.abs().sum().item<double>() * s;  // each term and the result rounded
  EXPECT_NEAR(quantizer.tensors().zero_point().grad().item<double>(), dz, 3 * 0x1p-24 * sum + 1e-9);
  EXPECT_NE(dz, 0.0);
}

INSTANTIATE_TEST_SUITE_P(Schemes, LsqSurrogate,
                         testing::Values(Case{"int8 symmetric tensor", 0.02F, 0},
                                         Case{"int2 symmetric tensor", 0.7F, 0}, Case{"uint4 affine tensor", 0.3F, 5},
                                         Case{"uint8 affine tensor", 0.01F, 128},
                                         Case{"uint4 affine tensor", 0.2F, 6.6F}));

// Where LibTorch's kernel is right: even zero points, away from ties.
TEST(LsqSurrogate, EqualsLibTorchsKernelPerChannel) {
  const at::Tensor scale = at::tensor({0.25F, 0.125F, 0.3F, 0.07F, 1.0F});
  const at::Tensor zero = at::tensor({6.0F, 0.0F, 14.0F, 8.0F, 2.0F});
  std::vector<at::Tensor> parts;
  for (int c = 0; c < 5; ++c) parts.push_back(away_from_ties(sample({4, 1, 6}, 10 + c) * 2, scale[c].item<double>()));
  const at::Tensor x = at::cat(parts, 1).requires_grad_(), dy = sample({4, 5, 6}, 2);
  Quantizer quantizer = learning("uint4 affine channel:1", scale, zero);
  const at::Tensor y = quantizer(x);
  y.backward(dy);
  const at::Tensor other = x.detach().clone().requires_grad_();
  const at::Tensor s = scale.clone().requires_grad_(), z = zero.clone().requires_grad_();
  const at::Tensor theirs = at::_fake_quantize_learnable_per_channel_affine(other, s, z, 1, 0, 15, 1.0);
  theirs.backward(dy);
  EXPECT_TRUE(at::equal(y, theirs));
  EXPECT_TRUE(at::equal(x.grad(), other.grad()));
  expect_close(quantizer.tensors().scale().grad(), s.grad().to(at::kDouble), 24, "ds");
  expect_close(quantizer.tensors().zero_point().grad(), z.grad().to(at::kDouble), 24, "dz");
}

}  // namespace
}  // namespace quench
