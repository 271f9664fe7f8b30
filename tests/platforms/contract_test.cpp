// What every registered platform must do, whoever wrote it.
#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"
#include "quench/observer.h"
#include "quench/prepare.h"

namespace quench {
namespace {

class EveryPlatform : public testing::TestWithParam<std::string> {
 protected:
  QuantConfig config() const { return settings_for(GetParam()); }
};

LayerRule keep_float(const std::string& match) {
  LayerRule rule;
  rule.match = match;
  rule.keep_float = true;
  return rule;
}

void check_plan(const Graph& graph, const QuantConfig& config) {
  const QuantPlan plan = make_plan(graph, config);
  EXPECT_EQ(plan.platform, platform_name(config.platform));
  EXPECT_GT(plan.entries.size(), 0U);
  for (const PlanEntry& entry : plan.entries) {
    EXPECT_TRUE(graph.find_value(entry.value)) << entry.value;
    EXPECT_NE(entry.rule, "") << entry.value;
  }
  const std::string text = to_yaml(plan);
  EXPECT_EQ(to_yaml(plan_from_yaml(text)), text);
  EXPECT_TRUE(diff_plans(plan, plan_from_yaml(text)).empty());
  const Graph quantized = insert_quantizers(graph, plan).graph;  // verifies
  int quantizers = 0;
  for (const auto& node : quantized.nodes())
    quantizers += node->op() == "quench.FakeQuant" || node->op() == "quench.QuantizeBias";
  EXPECT_EQ(quantizers, static_cast<int>(plan.entries.size()));
}

TEST_P(EveryPlatform, IsWhole) {
  const Platform& platform = find_platform(GetParam());
  EXPECT_TRUE(platform.annotate);
  EXPECT_FALSE(platform.weighted.empty());
  for (const std::string& alias : platform.aliases) EXPECT_EQ(platform_name(alias), GetParam()) << alias;
}

TEST_P(EveryPlatform, PlansNetworks) {
  for (const char* model : {"resnet18", "tiny_vit"}) {
    SCOPED_TRACE(model);
    check_plan(zoo_graph(model), config());
    if (!find_platform(GetParam()).has_parity) continue;
    QuantConfig parity = config();
    parity.parity = true;
    check_plan(zoo_graph(model), parity);
  }
}

// What a reference averages over batches is re-created under parity alone.
TEST_P(EveryPlatform, ObserversGoByTheSetOfImages) {
  const auto by_batch = [](const QuantConfig& config) {
    std::string found;
    for (const PlanEntry& entry : make_plan(zoo_graph("resnet18"), config).entries)
      if (entry.derived_from.empty() && entry.role == Role::kActivation &&
          make_observer(entry.observer, entry.scheme, entry.observer_options)->by_batch())
        found = entry.observer;
    return found;
  };
  EXPECT_EQ(by_batch(config()), "");
  const Platform& platform = find_platform(GetParam());
  if (!platform.reference.observer || platform.user_schemes) return;
  QuantConfig parity = config();
  parity.parity = true;
  EXPECT_EQ(by_batch(parity), *platform.reference.observer);
}

TEST_P(EveryPlatform, ARuleThatMatchesNothingIsAnError) {
  QuantConfig wrong = config();
  wrong.layers = {keep_float("no_such_layer")};
  EXPECT_REFUSES(wrong, "the rule {match: no_such_layer} matches no layer");
  QuantConfig option = config();
  option.platform_options.set("no_such_option", 1.0);
  EXPECT_REFUSES(option, "no_such_option");
}

// A layer that is kept in float keeps its weight, and asks for no more: every other quantizer stays as it was.
TEST_P(EveryPlatform, ALayerCanBeKeptInFloat) {
  const Graph graph = gated_graph();
  const QuantPlan before = make_plan(graph, config());
  QuantConfig kept = config();
  kept.layers = {keep_float("conv2")};
  const QuantPlan after = make_plan(graph, kept);
  ASSERT_TRUE(before.find("w2"));
  EXPECT_FALSE(after.find("w2"));
  EXPECT_EQ(explain(after, "w2"), "'w2' stays float: 'conv2' is kept in float by the user");
  EXPECT_LT(after.entries.size(), before.entries.size());
  for (const PlanEntry& entry : after.entries) EXPECT_TRUE(before.find(entry.value)) << entry.value;
}

TEST_P(EveryPlatform, AForcedNodeBeatsItsExclusion) {
  if (GetParam() == "onnx_qnn") return;  // takes no additions, which its own test says
  QuantConfig both = config();
  both.excluded_nodes = {"conv2"};
  EXPECT_FALSE(make_plan(gated_graph(), both).find("w2"));
  both.additional_nodes = {"conv2"};
  EXPECT_TRUE(make_plan(gated_graph(), both).find("w2"));
}

TEST(Exclusions, NameWhatDoesNotExist) {
  QuantConfig config = settings_for("tensorrt");
  config.excluded_nodes = {"conf2"};
  EXPECT_REFUSES(config, "did you mean 'conv2'?");
  config = settings_for("tensorrt");
  config.additional_nodes = {"conf2"};
  EXPECT_REFUSES(config, "did you mean 'conv2'?");
}

TEST(Additions, ExtendTheList) {
  QuantConfig config = settings_for("academic");
  EXPECT_FALSE(make_plan(gated_graph(), config).find("relu"));
  config.additional_ops = {"MaxPool"};
  EXPECT_EQ(make_plan(gated_graph(), config).find("relu")->rule, "input of MaxPool 'pool'");
  config.additional_ops = {};
  config.additional_nodes = {"pool"};
  EXPECT_TRUE(make_plan(gated_graph(), config).find("relu"));
}

INSTANTIATE_TEST_SUITE_P(All, EveryPlatform, testing::ValuesIn(PlatformRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace quench
