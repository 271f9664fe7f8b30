#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(QnnpackSymmetric, CountsOfTheReference) {
  EXPECT_EQ(counts("qnnpack_symmetric", "resnet18"), (Counts{30, 21}));
  EXPECT_EQ(counts("qnnpack_symmetric", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(QnnpackSymmetric, SchemesOfTorch) {
  const QuantPlan plan = make_plan(small_graph(), config_for("qnnpack_symmetric", true));
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 relu fc");
  EXPECT_EQ(plan.find("relu6")->scheme.text(), "int8 affine tensor");
  EXPECT_EQ(plan.find("relu6")->observer, "histogram");
  EXPECT_EQ(plan.find("conv1.weight")->scheme.text(), "int8 symmetric tensor narrow");
  EXPECT_EQ(plan.find("conv1.weight")->observer, "min_max");
}

TEST(QnnpackSymmetric, RefusesActivationsOfTheOtherSign) {
  QuantConfig config = config_for("qnnpack_symmetric");
  config.activation.is_signed = false;
  const std::string message = message_of([&] { make_plan(small_graph(), config); });
  EXPECT_NE(message.find("platform 'qnnpack_symmetric' cannot run"), std::string::npos) << message;
  EXPECT_NE(message.find("(signed only)"), std::string::npos) << message;
}

}  // namespace
}  // namespace quench
