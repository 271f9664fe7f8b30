#include <gtest/gtest.h>

#include "import/one_node.h"
#include "import/upgrade/rule.h"

namespace quench {
namespace {

TEST(UpgradeAxes, BecomeAnInputAtTheVersionOfEachOperator) {
  for (const char* op : {"Squeeze", "Unsqueeze", "ReduceSum"}) {
    EXPECT_EQ(OneNode(op, {{"axes", Ints{0, -1}}}).upgraded_from(12), concat("out = ", op, "(x, {0, -1})"));
    EXPECT_EQ(OneNode(op, {}).upgraded_from(13), concat("out = ", op, "(x)"));
  }
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                         "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    EXPECT_EQ(OneNode(op, {{"axes", Ints{1}}, {"keepdims", integer(0)}}).upgraded_from(17),
              concat("out = ", op, "(x, {1}) keepdims=0"));
    EXPECT_EQ(OneNode(op, {}).upgraded_from(18), concat("out = ", op, "(x)"));
  }
}

TEST(UpgradeAxes, AbsentOrEmptyMeansAllOfThem) {
  EXPECT_EQ(OneNode("ReduceMean", {}).upgraded_from(13), "out = ReduceMean(x)");
  EXPECT_EQ(OneNode("ReduceMean", {{"axes", Ints{}}}).upgraded_from(13), "out = ReduceMean(x)");
}

TEST(UpgradeAxes, UnsqueezeNeedsThem) {
  EXPECT_EQ(message_of([] { OneNode("Unsqueeze", {}).upgraded_from(11); }),
            "node 'n' (Unsqueeze): attribute 'axes' is missing\n  while upgrading node 'n' (Unsqueeze) to opset 13");
}

}  // namespace
}  // namespace quench
