#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"

namespace quench {
namespace {

OneNode batch_norm(std::map<std::string, Attr> attrs, int outputs) {
  OneNode one("BatchNormalization", {{2, 3}, {3}, {3}, {3}, {3}}, std::move(attrs), outputs);
  return one;
}

TEST(UpgradeNorm, BatchNormWithOneOutputIsOfTesting) {
  EXPECT_EQ(batch_norm({{"is_test", integer(0)}, {"spatial", integer(1)}, {"epsilon", 0.5}}, 1).upgraded_from(6),
            "out = BatchNormalization(x, y, z, u, v) epsilon=0.5");
}

TEST(UpgradeNorm, BatchNormWithMoreOutputsIsOfTraining) {
  EXPECT_EQ(batch_norm({}, 3).upgraded_from(9), "out, out1, out2 = BatchNormalization(x, y, z, u, v) training_mode=1");
  EXPECT_EQ(batch_norm({}, 3).upgraded_from(14), "out, out1, out2 = BatchNormalization(x, y, z, u, v)");
}

TEST(UpgradeNorm, BatchNormDropsSavedStatisticsThatNobodyUses) {
  OneNode one = batch_norm({}, 5);
  one.graph.clear_outputs();
  one.graph.add_output(one.node->output());
  EXPECT_EQ(one.upgraded_from(9), "out, out1, out2 = BatchNormalization(x, y, z, u, v) training_mode=1");
  EXPECT_EQ(message_of([] { batch_norm({}, 5).upgraded_from(9); }),
            "its output 'out3' (saved mean or variance) is used, but BatchNormalization has no such output from opset "
            "14 on\n  while upgrading node 'n' (BatchNormalization) to opset 14");
}

TEST(UpgradeNorm, BatchNormPerElementWorksOnVectors) {
  EXPECT_EQ(batch_norm({{"spatial", integer(0)}}, 1).upgraded_from(7),
            "n_Shape = Shape(x); n_Flatten = Flatten(x) axis=1; n_Reshape = Reshape(y, {-1}); "
            "n_Reshape_1 = Reshape(z, {-1}); n_Reshape_2 = Reshape(u, {-1}); n_Reshape_3 = Reshape(v, {-1}); "
            "out_raw = BatchNormalization(n_Flatten, n_Reshape, n_Reshape_1, n_Reshape_2, n_Reshape_3); "
            "out = Reshape(out_raw, n_Shape) allowzero=1");
}

TEST(UpgradeNorm, GroupNormScalesEveryChannel) {
  EXPECT_EQ(OneNode("GroupNormalization", {{2, 6, 4}, {3}, {3}}, {{"num_groups", integer(3)}}).upgraded_from(20),
            "n_Unsqueeze = Unsqueeze(y, {1}); n_Expand = Expand(n_Unsqueeze, {3, 2}); "
            "n_Reshape = Reshape(n_Expand, {-1}); n_Unsqueeze_1 = Unsqueeze(z, {1}); "
            "n_Expand_1 = Expand(n_Unsqueeze_1, {3, 2}); n_Reshape_1 = Reshape(n_Expand_1, {-1}); "
            "out = GroupNormalization(x, n_Reshape, n_Reshape_1) num_groups=3");
  EXPECT_EQ(message_of([] {
              OneNode("GroupNormalization", {{2, 6}, {4}, {4}}, {{"num_groups", integer(4)}}).upgraded_from(18);
            }),
            "6 channels do not divide into 4 groups\n  while upgrading node 'n' (GroupNormalization) to opset 21");
}

}  // namespace
}  // namespace quench
