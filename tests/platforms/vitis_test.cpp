#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Vitis, CountsOfTheReference) {
  EXPECT_EQ(counts("vitis", "resnet18"), (Counts{38, 21}));
  EXPECT_EQ(counts("vitis", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(Vitis, PlansASmallGraph) {
  EXPECT_EQ(small_plan("vitis"),
            "x: int8 symmetric tensor pot\n"
            "w1: int8 symmetric tensor pot\n"
            "b1: int8 symmetric tensor pot\n"
            "relu: int8 symmetric tensor pot\n"
            "w2: int8 symmetric tensor pot\n"
            "conv2: int8 symmetric tensor pot\n"
            "mul: int8 symmetric tensor pot\n"
            "sum: int8 symmetric tensor pot\n"
            "gap: int8 symmetric tensor pot\n"
            "w3: int8 symmetric tensor pot\n"
            "fc: int8 symmetric tensor pot\n");
}

TEST(Vitis, RefusesAnyScale) {
  QuantConfig config = settings_for("vitis");
  config.activation.power_of_two_scale = false;
  EXPECT_REFUSES(config, "cannot run activations with any scale (powers of two only)");
}

TEST(Vitis, InputAndBiasAreTensorsOfTheirOwn) {
  const QuantPlan plan = make_plan(gated_graph(), settings_for("vitis"));
  const PlanEntry& input = *plan.find("x");
  EXPECT_EQ(input.observer, "min_max_floor");
  EXPECT_EQ(std::get<std::string>(input.fake_quant_options.values().at("type")), "input");
  EXPECT_FALSE(plan.find("relu")->fake_quant_options.has("type"));
  const PlanEntry& bias = *plan.find("b1");
  EXPECT_EQ(bias.role, Role::kBias);
  EXPECT_EQ(bias.fake_quant, "tqt");
  EXPECT_EQ(bias.observer, "min_max_floor");
}

TEST(Vitis, TheReferenceLeavesTheInput) {
  QuantConfig config = settings_for("vitis");
  config.parity = true;
  EXPECT_FALSE(make_plan(gated_graph(), config).find("x"));
}

}  // namespace
}  // namespace quench
