#include <gtest/gtest.h>

#include "observers/observing.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(RecordingObserver, KeepsEveryTensor) {
  const auto observer = observer_of("recording", "int8 symmetric tensor"),
             other = observer_of("recording", "int8 symmetric tensor");
  at::Tensor x = at::arange(4, at::kFloat);
  observer->observe(x);
  x.fill_(7);  // it keeps what it saw, not what became of it
  other->observe(x);
  observer->merge(*other);
  const auto state = observer->state();
  EXPECT_TRUE(at::equal(state.at("tensor_0"), at::arange(4, at::kFloat)));
  EXPECT_TRUE(at::equal(state.at("tensor_1"), at::full({4}, 7.0F)));
  EXPECT_FALSE(state.contains("tensor_2"));
}

TEST(RecordingObserver, HasTheScaleOfMinMax) {
  const std::vector<at::Tensor> batches = {at::randn({8}), 3 * at::randn({8})};
  EXPECT_EQ(observed("recording", "uint8 affine tensor", batches), observed("min_max", "uint8 affine tensor", batches));
}

TEST(RecordingObserver, RefusesAStateThatLies) {
  const auto observer = observer_of("recording", "int8 symmetric tensor");
  observer->observe(at::ones({2}));
  auto state = observer->state();
  state["tensors"] = at::tensor({std::int64_t{-1}});
  EXPECT_ERROR(observer->load(state), "'tensors' must be one count");
}

}  // namespace
}  // namespace quench
