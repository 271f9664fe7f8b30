#include "qat/weight_average.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

struct OneParameter {
  Graph graph;
  std::vector<TrainedParameter> list;
  at::Tensor tensor;
  OneParameter() {
    Value& value = graph.add_constant("scale", at::full({2}, 1.0F));
    list = {{&value, ParameterKind::kQuantizer}};
    tensor = value.tensor();
  }
};

// From the first step on, not from where the parameters stood before it: a scale may not have been found then.
TEST(WeightAverage, IsTheDecayedMeanOfWhatItSaw) {
  OneParameter one;
  WeightAverage average(one.list, 0.75);
  one.tensor.fill_(0.5);
  average.update();
  one.tensor.fill_(0.1);
  average.update();
  average.swap();
  EXPECT_NEAR(one.tensor[0].item<float>(), 0.75 * 0.5 + 0.25 * 0.1, 1e-6);
  average.swap();
  EXPECT_NEAR(one.tensor[0].item<float>(), 0.1, 1e-7);
}

TEST(WeightAverage, BeforeAStepThereIsNone) {
  OneParameter one;
  WeightAverage average(one.list, 0.9);
  one.tensor.fill_(0.5);
  EXPECT_TRUE(average.state().empty());
  average.swap();
  EXPECT_EQ(one.tensor[0].item<float>(), 0.5F);
}

TEST(WeightAverage, GoesOnFromItsState) {
  OneParameter one, other;
  WeightAverage first(one.list, 0.5), second(other.list, 0.5);
  one.tensor.fill_(2);
  first.update();
  second.load(first.state());
  other.tensor.fill_(4);
  second.update();
  second.swap();
  EXPECT_EQ(other.tensor[0].item<float>(), 3.0F);
}

}  // namespace
}  // namespace quench
