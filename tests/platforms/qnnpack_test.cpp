#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Qnnpack, CountsOfTheReference) {
  EXPECT_EQ(counts("qnnpack", "resnet18"), (Counts{30, 21}));
  EXPECT_EQ(counts("qnnpack", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(Qnnpack, SchemesOfTorch) {
  const QuantPlan plan = make_plan(small_graph(), config_for("qnnpack", true));
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 relu fc");
  EXPECT_EQ(plan.find("relu6")->scheme.text(), "uint8 affine tensor");
  EXPECT_EQ(plan.find("relu6")->observer, "histogram");
  EXPECT_EQ(plan.find("conv1.weight")->scheme.text(), "int8 symmetric tensor");
  EXPECT_EQ(plan.find("conv1.weight")->observer, "min_max");
}

TEST(Qnnpack, RefusesActivationsOfTheOtherSign) {
  QuantConfig config = config_for("qnnpack");
  config.activation.is_signed = true;
  const std::string message = message_of([&] { make_plan(small_graph(), config); });
  EXPECT_NE(message.find("platform 'qnnpack' cannot run"), std::string::npos) << message;
  EXPECT_NE(message.find("(unsigned only)"), std::string::npos) << message;
}

}  // namespace
}  // namespace quench
