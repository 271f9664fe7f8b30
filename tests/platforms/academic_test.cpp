#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Academic, PlansASmallGraph) {
  EXPECT_EQ(small_plan("academic"),
            "x: int8 symmetric tensor\n"
            "w1: int8 symmetric tensor\n"
            "pool: int8 symmetric tensor\n"
            "w2: int8 symmetric tensor\n"
            "flat: int8 symmetric tensor\n"
            "w3: int8 symmetric tensor\n");
}

// Of the entries of a role, how many have 8 bits.
int count_of_eight(const QuantPlan& plan, Role role) {
  int count = 0;
  for (const PlanEntry& entry : plan.entries) count += entry.role == role && entry.scheme.bits() == 8;
  return count;
}

TEST(Academic, CountsOfTheReference) {
  for (const auto& [model, expected] :
       std::map<std::string, Counts>{{"resnet18", {18, 21}}, {"mobilenet_v2", {53, 53}}}) {
    QuantConfig config = settings_for("academic", 4);
    config.parity = true;
    const QuantPlan plan = make_plan(zoo_graph(model), config);
    EXPECT_EQ(counts_of(plan), expected) << model;
    EXPECT_EQ(count_of_eight(plan, Role::kActivation), 2) << model;
    EXPECT_EQ(count_of_eight(plan, Role::kWeight), 2) << model;
  }
}

TEST(Academic, FirstAndLastLayerHaveEightBits) {
  QuantConfig config = settings_for("academic", 4);
  config.activation.symmetric = false;
  config.weight.narrow = true;
  EXPECT_EQ(small_plan(config),
            "x: uint8 affine tensor\n"
            "w1: int8 symmetric tensor\n"
            "pool: int4 affine tensor\n"
            "w2: int4 symmetric tensor narrow\n"
            "flat: uint8 affine tensor\n"
            "w3: int8 symmetric tensor\n");
  LayerRule rule;  // the user's last word on this very layer
  rule.match = "fc";
  rule.weight.bits = 2;
  config.layers = {rule};
  EXPECT_EQ(make_plan(gated_graph(), config).find("w3")->scheme.text(), "int2 symmetric tensor narrow");
}

TEST(Academic, HasNoDefaults) {
  QuantConfig config;
  config.platform = "academic";
  EXPECT_REFUSES(config,
                 "platform 'academic' has no defaults: bits, observer, fake_quant of the weight; bits, observer, "
                 "fake_quant of the activation must be given, as in the setting 'defaults.weight={bits: 8, observer: "
                 "min_max, fake_quant: fixed}'");
  config.weight.bits = 4;
  config.weight.observer = "min_max";
  config.weight.fake_quant = "fixed";
  EXPECT_REFUSES(config,
                 "has no defaults: bits, observer, fake_quant of the activation must be given, as in the "
                 "setting 'defaults.activation={");
}

}  // namespace
}  // namespace quench
