#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const char* const kScheme = "uint4 symmetric tensor";

Quantizer dropping(const at::Tensor& x, double prob) {
  Quantizer quantizer = quantizing(spec_of("qdrop", kScheme, Role::kActivation, Options({{"prob", prob}})), x * 0.7F);
  quantizer.reconstructing = true;
  return quantizer;
}

TEST(Qdrop, LeavesSomeAsTheyWere) {
  const at::Tensor x = sample({64, 100}).abs();
  const at::Tensor y = dropping(x, 0.5)(x, {1, 2, 3}).detach(), quantized = dropping(x, 1.0)(x).detach();
  const at::Tensor kept = y == x, done = y == quantized;
  EXPECT_TRUE((kept | done).all().item<bool>());
  const double share = done.to(at::kFloat).mean().item<double>();
  EXPECT_NEAR(share, 0.5, 5 * 0.5 / std::sqrt(6400.0));  // five standard deviations
}

TEST(Qdrop, DropsOnlyWhileReconstructing) {
  const at::Tensor x = sample({64, 100}).abs();
  Quantizer quantizer = dropping(x, 0.5);
  quantizer.reconstructing = false;
  EXPECT_TRUE(at::equal(quantizer(x, {1, 2, 3}), dropping(x, 1.0)(x)));
}

TEST(Qdrop, DrawsByKeyAlone) {
  const at::Tensor x = sample({64, 100}).abs();
  const auto draw = [&](const RandomKey& key) { return dropping(x, 0.5)(x, key).detach(); };
  const at::Tensor y = draw({1, 2, 3});
  EXPECT_TRUE(at::equal(draw({1, 2, 3}), y));
  EXPECT_FALSE(at::equal(draw({1, 2, 4}), y));
  EXPECT_FALSE(at::equal(draw({1, 3, 3}), y));
  EXPECT_FALSE(at::equal(draw({2, 2, 3}), y));
}

TEST(Qdrop, LearnsFromWhatItQuantized) {
  const at::Tensor x = away_from_ties(sample({64, 100}).abs(), 0.1).requires_grad_(), dy = sample({64, 100}, 2);
  Quantizer quantizer = dropping(x.detach(), 0.5);
  const at::Tensor y = quantizer(x, {1, 2, 3});
  y.backward(dy);
  const at::Tensor scale = quantizer.tensors().scale().detach();
  const at::Tensor v = x.detach() * (1 / scale), r = at::round(v), kept = y == x;
  const at::Tensor slope = at::where(r > 15, number(15), (r - v).to(at::kDouble));
  expect_close(quantizer.tensors().scale().grad(), (dy * slope * ~kept).sum(), x.numel(), "ds");
  EXPECT_TRUE(at::equal(x.grad(), at::where(kept | (r <= 15), dy, at::zeros({}))));
}

TEST(Qdrop, RefusesWhatIsNoProbability) {
  EXPECT_ERROR(make_fake_quant(spec_of("qdrop", kScheme, Role::kActivation, Options({{"prob", 1.5}}))), "prob of QDrop",
               "between 0 and 1");
}

}  // namespace
}  // namespace quench
