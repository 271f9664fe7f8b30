#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Tensorrt, CountsOfTheReference) {
  EXPECT_EQ(counts("tensorrt", "resnet18"), (Counts{31, 21}));
  EXPECT_EQ(counts("tensorrt", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(Tensorrt, PlansASmallGraph) {
  EXPECT_EQ(small_plan("tensorrt"),
            "x: int8 symmetric tensor narrow\n"
            "w1: int8 symmetric channel:0 narrow\n"
            "relu: int8 symmetric tensor narrow\n"
            "pool: int8 symmetric tensor narrow\n"
            "gate: int8 symmetric tensor narrow\n"
            "w2: int8 symmetric channel:0 narrow\n"
            "conv2: int8 symmetric tensor narrow\n"
            "sum: int8 symmetric tensor narrow\n"
            "flat: int8 symmetric tensor narrow\n"
            "w3: int8 symmetric channel:0 narrow\n");
}

TEST(Tensorrt, RefusesWhatItCannotRun) {
  QuantConfig config = settings_for("tensorrt");
  config.weight.bits = 4;
  EXPECT_REFUSES(config, "platform 'tensorrt' cannot run 4-bit weights (8 bits only): weight 'w1' of node 'conv1'");
  config = settings_for("tensorrt");
  config.activation.granularity = Granularity::kChannel;
  EXPECT_REFUSES(config, "cannot run per-channel activations (per tensor only)");
  config = settings_for("tensorrt");
  config.activation.symmetric = config.activation.narrow = false;
  EXPECT_REFUSES(config, "cannot run affine activations (symmetric only)");
  config.activation.symmetric = true;
  config.activation.is_signed = false;
  EXPECT_REFUSES(config, "cannot run unsigned activations (signed only)");
}

TEST(Tensorrt, WhatItCannotRunStaysFloatWhereAsked) {
  QuantConfig config = settings_for("tensorrt");
  config.float_fallback = true;
  LayerRule rule;
  rule.match = "conv2";
  rule.weight.bits = 4;
  config.layers = {rule};
  const QuantPlan plan = make_plan(gated_graph(), config);
  EXPECT_EQ(plan.count(Role::kWeight), 2);
  EXPECT_EQ(explain(plan, "w2"),
            "'w2' stays float: the target cannot run 4-bit weights (8 bits only) (float_fallback)");
}

// The Add is computed inside the Conv: what lies between stays float. 'mul' is not plain; here both operands are.
TEST(Tensorrt, FusesAResidualAddWhereAsked) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 4, 8, 8}));
  Value& w1 = graph.add_constant("w1", at::ones({4, 4, 1, 1}));
  Value& w2 = graph.add_constant("w2", at::ones({4, 4, 1, 1}));
  Value& left = graph.add("Conv", "left", {&x, &w1}).output();
  Value& right = graph.add("Conv", "right", {&x, &w2}).output();
  graph.add_output(graph.add("Add", "sum", {&left, &right}).output());
  infer_shapes(graph);
  QuantConfig config = settings_for("tensorrt");
  EXPECT_EQ(make_plan(graph, config).count(Role::kActivation), 3);
  config.platform_options.set("fuse_residual_add", 1.0);
  const QuantPlan plan = make_plan(graph, config);
  EXPECT_TRUE(plan.find("left"));
  EXPECT_EQ(explain(plan, "right"), "'right' stays float: 'sum' is computed inside the layer that makes it");
  // A Conv with its BatchNormalization is not plain: nothing changes in resnet18 before folding.
  config.parity = true;
  EXPECT_EQ(counts(config, "resnet18"), (Counts{31, 21}));
}

}  // namespace
}  // namespace quench
