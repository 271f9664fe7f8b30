#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"

namespace quench {
namespace {

at::Tensor squeezed(const at::Tensor& w) {
  const at::Tensor t = at::tanh(w);
  return t / (t.abs().max() + 1e-5);
}

TEST(Dorefa, QuantizesTheSqueezedWeight) {
  const at::Tensor w = sample({6, 5, 3, 3}).requires_grad_(), dy = sample({6, 5, 3, 3}, 2);
  Quantizer quantizer = quantizing(spec_of("dorefa", "int4 symmetric tensor", Role::kWeight), w.detach());
  EXPECT_NEAR(quantizer.tensors().scale().item<float>(), 1 / 7.5F, 1e-4F);  // seen on [-1, 1]
  const at::Tensor y = quantizer(w);
  y.backward(dy);
  EXPECT_LE((y - squeezed(w)).abs().max().item<float>(), 1 / 7.5F / 2 * 1.01F);
  // The clamped end, +1 alone, has no gradient.
  const at::Tensor wd = leaf(w), soft = squeezed(wd);
  const at::Tensor inside = at::round(squeezed(w.detach()) / quantizer.tensors().scale().detach()) <= 7;
  (soft * inside).backward(dy.to(at::kDouble));
  expect_close(w.grad(), wd.grad(), w.numel(), "dw");
}

// D5: with the flags off the float weight comes back.
TEST(Dorefa, ShowsTheObserverTheSqueezedWeightOnly) {
  const at::Tensor w = sample({6, 5});
  Quantizer quantizer(spec_of("dorefa", "int8 symmetric tensor", Role::kWeight), {6, 5},
                      make_observer("min_max", QScheme::parse("int8 symmetric tensor")));
  EXPECT_TRUE(quantizer(w).is_same(w));
  quantizer.flags.observe = true;
  EXPECT_TRUE(quantizer(w).is_same(w));
  EXPECT_NEAR(quantizer.observer()->qparams().scale[0], 1 / 127.5F, 1e-5F);
}

// The rounding offsets frozen, what is left is the squeezed weight inside and a constant outside: numerically, in
// double, through tanh and through the maximum.
TEST(Dorefa, GradientsEqualFiniteDifferences) {
  const at::Tensor w = sample({6, 15}).requires_grad_(), dy = sample({6, 15}, 2);
  Quantizer quantizer = quantizing(spec_of("dorefa", "int4 symmetric tensor", Role::kWeight), w.detach());
  quantizer(w).backward(dy);
  const at::Tensor wd = w.detach().to(at::kDouble), s = quantizer.tensors().scale().detach().to(at::kDouble);
  const at::Tensor codes = at::round(squeezed(wd) / s), inside = (codes >= -8) & (codes <= 7);
  const auto loss = [&](const at::Tensor& at_w) { return (squeezed(at_w) * inside * dy).sum().item<double>(); };
  const double h = 1e-5;
  const at::Tensor numeric = at::empty_like(wd);
  for (std::int64_t i = 0; i < w.numel(); ++i) {
    const at::Tensor change = at::zeros_like(wd);
    change.view(-1)[i] = h;
    numeric.view(-1)[i] = (loss(wd + change) - loss(wd - change)) / (2 * h);
  }
  // Float64 is good to h^2 and 2^-53 |loss| / h, both below 1e-9; float32 as expect_close says.
  expect_close(w.grad(), numeric, w.numel(), "dw");
  EXPECT_NE(numeric.view(-1)[wd.abs().argmax().item<std::int64_t>()].item<double>(), 0.0);
}

}  // namespace
}  // namespace quench
