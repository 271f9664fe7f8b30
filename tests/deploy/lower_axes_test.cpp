#include <gtest/gtest.h>

#include "deploy/lowered.h"

namespace quench {
namespace {

TEST(LowerAxes, BecomeAnAttribute) {
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                         "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    EXPECT_EQ(OneNode(op, {Dims{2, 3}, ints({1})}, {{"keepdims", integer(0)}}).lowered_to(17),
              concat("out = ", op, "(x) axes=[1] keepdims=0"));
    EXPECT_EQ(OneNode(op, {Dims{2, 3}, ints({1})}).lowered_to(18), concat("out = ", op, "(x, {1})"));
  }
  EXPECT_EQ(OneNode("ReduceSum", {Dims{2, 3}, ints({1})}).lowered_to(13), "out = ReduceSum(x, {1})");
  for (const char* op : {"ReduceSum", "Squeeze", "Unsqueeze"})
    EXPECT_EQ(OneNode(op, {Dims{2, 1}, ints({1})}).lowered_to(12), concat("out = ", op, "(x) axes=[1]"));
}

TEST(LowerAxes, NoneMeansAllOfThem) {
  EXPECT_EQ(OneNode("ReduceMean", {Dims{2, 3}}).lowered_to(13), "out = ReduceMean(x)");
  EXPECT_EQ(OneNode("ReduceMean", {Dims{2, 3}, ints({})}, {{"noop_with_empty_axes", integer(0)}}).lowered_to(13),
            "out = ReduceMean(x)");
}

TEST(LowerAxes, NoneCanMeanNothingToReduce) {
  const auto lowered = [](const char* op) {
    return OneNode(op, {Dims{2, 3}}, {{"noop_with_empty_axes", integer(1)}, {"keepdims", integer(1)}}).lowered_to(13);
  };
  EXPECT_EQ(lowered("ReduceMax"), "out = Identity(x)");
  EXPECT_EQ(lowered("ReduceL2"), "out = Abs(x)");
  EXPECT_EQ(lowered("ReduceLogSum"), "out = Log(x)");
  EXPECT_EQ(lowered("ReduceSumSquare"), "out = Mul(x, x)");
}

TEST(LowerAxes, AreCountedFromTheStartBelowEleven) {
  EXPECT_EQ(OneNode("ReduceMax", {Dims{2, 3}, ints({-1})}).lowered_to(10), "out = ReduceMax(x) axes=[1]");
  EXPECT_EQ(OneNode("ReduceMax", {Dims{2, 3}, ints({-1})}).lowered_to(11), "out = ReduceMax(x) axes=[-1]");
  EXPECT_EQ(OneNode("Unsqueeze", {Dims{2}, ints({-1, 0})}).lowered_to(10), "out = Unsqueeze(x) axes=[2, 0]");
  EXPECT_EQ(OneNode("Concat", {Dims{2, 3}, Dims{2, 3}}, {{"axis", integer(-2)}}).lowered_to(10),
            "out = Concat(x, y) axis=0");
}

TEST(LowerAxes, MustBeConstant) {
  EXPECT_EQ(OneNode("ReduceMean", {Dims{2, 3}, DType::kInt64}).refused_by(13),
            "'axes' is an attribute there, so input 1 must be a constant\n"
            "  while lowering node 'n' (ReduceMean) to opset 13");
}

}  // namespace
}  // namespace quench
