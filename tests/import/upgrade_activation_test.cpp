#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"

namespace quench {
namespace {

TEST(UpgradeActivation, ClipTakesInputs) {
  EXPECT_EQ(OneNode("Clip", {{"min", 0.0}, {"max", 6.0}}).upgraded_from(6), "out = Clip(x, {0}, {6})");
  EXPECT_EQ(OneNode("Clip", {{"max", 6.0}}).upgraded_from(10), "out = Clip(x, -, {6})");
  EXPECT_EQ(OneNode("Clip", {}).upgraded_from(10), "out = Clip(x)");
}

TEST(UpgradeActivation, ClipBoundsHaveTheTypeOfTheData) {
  OneNode one("Clip", {{"min", -1.0}});
  one.graph.value("x").set_type(TypeInfo::tensor(DType::kDouble));
  one.upgraded_from(10);
  EXPECT_EQ(one.node->input(1)->type().text(), "double[]");
}

TEST(UpgradeActivation, PReluSlopePerChannelGetsDims) {
  OneNode four("PRelu", {{1, 3, 8, 8}, {3}}, {});
  EXPECT_EQ(four.upgraded_from(6), "n_Unsqueeze = Unsqueeze(y, {1, 2}); out = PRelu(x, n_Unsqueeze)");
  OneNode constant("PRelu", {{1, 3, 8, 8}}, {});
  Value& slope = constant.graph.add_constant("slope", at::ones({3}));
  slope.set_parameter(true);
  constant.graph.set_input(*constant.node, 1, &slope);
  EXPECT_EQ(constant.upgraded_from(6), "out = PRelu(x, {1, 1, 1})");
  EXPECT_EQ(slope.type().text(), "float[3, 1, 1]");
  EXPECT_TRUE(slope.is_parameter());
  EXPECT_EQ(OneNode("PRelu", {{1, 3, 8}, {1}}, {}).upgraded_from(6), "out = PRelu(x, y)");
  EXPECT_EQ(OneNode("PRelu", {{1, 3}, {3}}, {}).upgraded_from(6), "out = PRelu(x, y)");
  EXPECT_EQ(OneNode("PRelu", {{1, 3, 3}, {3}}, {}).upgraded_from(7), "out = PRelu(x, y)");
}

TEST(UpgradeActivation, DropoutTakesItsRatio) {
  EXPECT_EQ(OneNode("Dropout", {{"ratio", 0.25}, {"is_test", integer(1)}}).upgraded_from(6),
            "out = Dropout(x, {0.25})");
  EXPECT_EQ(OneNode("Dropout", {{"ratio", 0.25}}, 2).upgraded_from(10), "out, out1 = Dropout(x, {0.25})");
}

TEST(UpgradeActivation, DropoutMaskKeepsTheTypeOfTheData) {
  EXPECT_EQ(OneNode("Dropout", {}, 2).upgraded_from(7), "out, out1_raw = Dropout(x); out1 = Cast(out1_raw) to=1");
}

TEST(UpgradeActivation, SoftmaxOverTheLastAxisStays) {
  EXPECT_EQ(OneNode("Softmax", {{2, 5}}, {}).upgraded_from(9), "out = Softmax(x) axis=1");
  EXPECT_EQ(OneNode("LogSoftmax", {{2, 5, 3}}, {{"axis", integer(-1)}}).upgraded_from(11),
            "out = LogSoftmax(x) axis=-1");
  EXPECT_EQ(OneNode("Hardmax", {{2, 5, 1, 1}}, {}).upgraded_from(9), "out = Hardmax(x) axis=1");
  EXPECT_EQ(OneNode("Softmax", {{2, 5, 3}}, {}).upgraded_from(13), "out = Softmax(x)");
}

TEST(UpgradeActivation, SoftmaxOverSeveralAxesIsMadeAMatrix) {
  const char* matrix =
      "n_Shape = Shape(x); n_Flatten = Flatten(x) axis=1; out_raw = Softmax(n_Flatten) axis=-1; "
      "out = Reshape(out_raw, n_Shape) allowzero=1";
  EXPECT_EQ(OneNode("Softmax", {{2, 5, 3}}, {}).upgraded_from(12), matrix);
  EXPECT_EQ(OneNode("Softmax", {}).upgraded_from(12), matrix);
  OneNode one("Softmax", {{2, 5, 3}}, {});
  one.upgraded_from(12);
  EXPECT_EQ(one.graph.outputs()[0]->producer()->op(), "Reshape");
}

TEST(UpgradeActivation, SoftmaxRefusesAnAxisThatDoesNotFit) {
  EXPECT_EQ(message_of([] { OneNode("Softmax", {{2, 5}}, {{"axis", integer(4)}}).upgraded_from(9); }),
            "axis 4 does not fit an input of rank 2\n  while upgrading node 'n' (Softmax) to opset 13");
}

}  // namespace
}  // namespace quench
