#include "platforms/plan/reuse_input.h"

#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "support/expect_error.h"

namespace quench {
namespace {

QuantConfig reusing(const std::string& layer) {
  QuantConfig config = config_for("fbgemm");
  LayerRule rule;
  rule.match = layer;
  rule.output.observer = "reuse_input";
  config.layers.push_back(rule);
  return config;
}

TEST(ReuseInput, BecomesASharedScale) {
  const QuantPlan plan = make_plan(small_graph(), reusing("sum"));
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 relu=conv2 mean=conv2 fc");
  EXPECT_EQ(plan.find("relu")->observer, plan.find("conv2")->observer);
  EXPECT_TRUE(plan.find("relu")->rule.ends_with("has the scale of its input")) << plan.find("relu")->rule;
}

// conv1 reads the input of the graph, whose scale then is that of what it writes.
TEST(ReuseInput, OfALayerBehindTheInput) {
  const QuantPlan plan = make_plan(small_graph(), reusing("conv1"));
  EXPECT_EQ(plan.find("relu6")->shared_with, "x");
}

TEST(ReuseInput, IsNotForWeights) {
  QuantConfig config = config_for("fbgemm");
  config.weight.observer = "reuse_input";
  EXPECT_ERROR(make_plan(small_graph(), config), "observer 'reuse_input' finds no scale", "conv1.weight");
}

}  // namespace
}  // namespace quench
