#include "qat/augment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

NamedValues images() {
  at::manual_seed(1);
  return {{"x", RtValue(at::randn({8, 2, 6, 5}))}};
}

TEST(Augment, APartGetsWhatTheWholeBatchGives) {
  const AugmentOptions options{.flip = true, .crop = 2};
  const at::Tensor whole = augmented(images(), options, 7).at("x").tensor();
  EXPECT_FALSE(whole.equal(images().at("x").tensor()));
  for (const std::int64_t first : {0, 2, 6}) {
    const NamedValues part = {{"x", RtValue(images().at("x").tensor().narrow(0, first, 2))}};
    const at::Tensor found = augmented(part, options, 7, {.first = first, .of = 8}).at("x").tensor();
    EXPECT_TRUE(found.equal(whole.narrow(0, first, 2))) << first;
  }
}

TEST(Augment, TheSeedDecides) {
  const AugmentOptions options{.flip = true, .crop = 2};
  const auto with = [&](std::uint64_t seed) { return augmented(images(), options, seed).at("x").tensor(); };
  EXPECT_TRUE(with(3).equal(with(3)));
  EXPECT_FALSE(with(3).equal(with(4)));
}

TEST(Augment, WithoutOptionsNothingChanges) {
  EXPECT_TRUE(augmented(images(), {}, 7).at("x").tensor().equal(images().at("x").tensor()));
}

}  // namespace
}  // namespace quench
