// torch's observers that find no scale: what has one stays float, and the plan says so.
#include "platforms/plan/unobserved.h"

#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "support/expect_error.h"

namespace quench {
namespace {

std::string weights_of(const QuantPlan& plan) {
  std::string text;
  for (const PlanEntry& entry : plan.entries)
    if (entry.role == Role::kWeight) text += (text.empty() ? "" : " ") + entry.value;
  return text;
}

LayerRule rule_for(const std::string& layer) {
  LayerRule rule;
  rule.match = layer;
  return rule;
}

TEST(Unobserved, WeightsOfAllLayersStayFloat) {
  QuantConfig config = config_for("fbgemm");
  config.weight.observer = "noop";
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(weights_of(plan), "");
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 relu mean=relu fc");
  EXPECT_EQ(reason_of(plan, "conv1.weight"), "the observer 'noop' leaves it float");
}

TEST(Unobserved, ActivationsOfAllLayersStayFloat) {
  QuantConfig config = config_for("fbgemm");
  config.activation.observer = "placeholder";
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(weights_of(plan), "conv1.weight conv2.weight fc.weight");
  EXPECT_EQ(quantized_values(plan), "");
  EXPECT_EQ(reason_of(plan, "relu6"), "the observer 'placeholder' leaves it float");
}

TEST(Unobserved, ARuleLeavesOneLayerFloat) {
  QuantConfig config = config_for("fbgemm");
  LayerRule rule = rule_for("conv2");
  rule.weight.observer = rule.output.observer = "noop";
  config.layers.push_back(rule);
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(weights_of(plan), "conv1.weight fc.weight");
  EXPECT_EQ(quantized_values(plan), "x relu6 relu mean=relu fc");
  EXPECT_EQ(reason_of(plan, "conv2"), "the observer 'noop' leaves it float");
  EXPECT_EQ(reason_of(plan, "conv2.weight"), "the observer 'noop' leaves it float");
}

TEST(Unobserved, ARuleBringsALayerBack) {
  QuantConfig config = config_for("fbgemm");
  config.weight.observer = "noop";
  config.layers.push_back(rule_for("fc"));
  config.layers.back().weight.observer = "min_max";
  EXPECT_EQ(weights_of(make_plan(small_graph(), config)), "fc.weight");
}

// What has the scale of a tensor without one has none either.
TEST(Unobserved, SharedScalesGoWithTheirLeader) {
  QuantConfig config = config_for("fbgemm");
  config.layers.push_back(rule_for("relu"));
  config.layers.back().output.observer = "noop";
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 fc");
  EXPECT_EQ(reason_of(plan, "mean"), "'relu', whose scale it would share, is not quantized");
}

// Biases of Vitis are quantized where their weights are.
TEST(Unobserved, ABiasGoesWithItsWeight) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2, 2, 2]
    const %w : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %b : float[2] = {1.0, 2.0}
    %conv = Conv "conv" (%x, %w, %b)
    output %conv
  })");
  infer_shapes(graph);
  QuantConfig config = config_for("vitis");
  EXPECT_EQ(make_plan(graph, config).count(Role::kBias), 1);
  config.weight.observer = "noop";
  const QuantPlan plan = make_plan(graph, config);
  EXPECT_EQ(plan.count(Role::kBias), 0);
  EXPECT_EQ(reason_of(plan, "b"), "the weight of 'conv' stays float");
}

// Every platform whose observers are free makes a plan of what is left.
TEST(Unobserved, OnEveryPlatform) {
  for (const std::string& platform : PlatformRegistry::instance().names()) {
    if (find_platform(platform).user_schemes) continue;
    for (const bool is_weight : {true, false}) {
      QuantConfig config = config_for(platform);
      (is_weight ? config.weight : config.activation).observer = "noop";
      const QuantPlan plan = make_plan(small_graph(), config);
      EXPECT_EQ(plan.count(is_weight ? Role::kWeight : Role::kActivation), 0) << platform;
    }
  }
}

TEST(Unobserved, APlanHasNoSuchEntry) {
  QuantPlan plan = make_plan(small_graph(), config_for("fbgemm"));
  plan.entries[0].observer = "noop";
  EXPECT_ERROR(check_plan(small_graph(), plan), "observer 'noop' finds no scale", "a plan has no entry");
}

}  // namespace
}  // namespace quench
