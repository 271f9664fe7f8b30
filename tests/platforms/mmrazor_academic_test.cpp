#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

QuantConfig academic(int weight_bits, int activation_bits, bool parity = false) {
  QuantConfig config = config_for("mmrazor_academic", parity);
  config.weight.bits = weight_bits;
  config.activation.bits = activation_bits;
  config.weight.observer = config.activation.observer = "min_max";
  config.weight.fake_quant = config.activation.fake_quant = "lsq";
  return config;
}

TEST(MmrazorAcademic, CountsOfTheReference) {
  EXPECT_EQ(counts(academic(8, 8, true), "resnet18"), (Counts{31, 21}));
  EXPECT_EQ(counts(academic(8, 8, true), "mobilenet_v2"), (Counts{99, 53}));
}

TEST(MmrazorAcademic, LeavesNothingOut) {
  const QuantPlan plan = make_plan(small_graph(), academic(4, 4));
  EXPECT_EQ(quantized_values(plan), "x conv1 pool conv2 flat fc");
  EXPECT_EQ(plan.find("pool")->scheme.text(), "uint4 affine tensor");
  EXPECT_EQ(plan.find("fc.weight")->fake_quant, "lsq");
}

TEST(MmrazorAcademic, MixedPrecisionByModule) {
  QuantConfig config = academic(4, 4);
  LayerRule rule;
  rule.match = "fc";
  rule.weight.bits = 8;
  config.layers.push_back(rule);
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(plan.find("fc.weight")->scheme.bits(), 8);
  EXPECT_EQ(plan.find("conv1.weight")->scheme.bits(), 4);
}

TEST(MmrazorAcademic, HasNoDefaultsAndRefusesADtypeThatIsNotListed) {
  EXPECT_NE(message_of([] { make_plan(small_graph(), config_for("mmrazor_academic")); }).find("has no defaults"),
            std::string::npos);
  QuantConfig config = academic(8, 8);
  config.activation.is_signed = true;
  const std::string message = message_of([&] { make_plan(small_graph(), config); });
  EXPECT_NE(message.find("signed activations (unsigned only)"), std::string::npos) << message;
}

}  // namespace
}  // namespace quench
