// A graph, and the same lowered to an older opset and read back: both must compute the same.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "deploy/lowered.h"
#include "import/upgrade/upgrade.h"
#include "quench/executor.h"
#include "quench/op.h"

namespace quench {
namespace {

// Runs on `x`, before and after; the other inputs of the node are constants.
void expect_same(OneNode one, const at::Tensor& x, std::int64_t opset) {
  infer_shapes(one.graph);
  Graph lowered = one.graph;
  lower_graph(lowered, opset);
  const std::string text = describe(lowered);
  upgrade_graph(lowered, {{"", opset}});
  lowered.verify();
  const auto expected = Executor(one.graph).run({RtValue(x)}), found = Executor(lowered).run({RtValue(x)});
  ASSERT_EQ(found.size(), expected.size()) << text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].tensor().sizes(), expected[i].tensor().sizes()) << text;
    EXPECT_TRUE(at::allclose(found[i].tensor(), expected[i].tensor(), 1e-4, 1e-5)) << text << " at opset " << opset;
  }
}

TEST(LowerSemantics, ReductionsAndShapes) {
  const at::Tensor x = at::rand({2, 3, 4}) + 0.5;
  for (const std::int64_t opset : {7, 11, 13, 17, 18}) {
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSum", "ReduceSumSquare"}) {
      expect_same(OneNode(op, {Dims{2, 3, 4}, ints({0, -1})}, {{"keepdims", integer(0)}}), x, opset);
      expect_same(OneNode(op, {Dims{2, 3, 4}}, {{"noop_with_empty_axes", integer(1)}}), x, opset);
      expect_same(OneNode(op, {Dims{2, 3, 4}}), x, opset);
    }
    expect_same(OneNode("Unsqueeze", {Dims{2, 3, 4}, ints({1, -1})}), x, opset);
    expect_same(OneNode("Split", {Dims{2, 3, 4}}, {{"axis", integer(1)}, {"num_outputs", integer(2)}}, 2), x, opset);
    expect_same(OneNode("Slice", {Dims{2, 3, 4}, ints({1}), ints({9}), ints({2})}), x, opset);
    expect_same(OneNode("Shape", {Dims{2, 3, 4}}, {{"start", integer(-2)}}), x, opset);
  }
}

TEST(LowerSemantics, PadOfSomeAxes) {
  const at::Tensor x = at::randn({2, 3, 4});
  for (const std::int64_t opset : {7, 12, 13, 17})
    expect_same(OneNode("Pad", {Dims{2, 3, 4}, ints({1, 0, 2, 3}), at::scalar_tensor(5.0F), ints({-1, 0})}), x, opset);
}

TEST(LowerSemantics, GroupNorm) {
  const at::Tensor x = at::randn({2, 6, 5, 2}), scale = at::randn({6}), bias = at::randn({6});
  for (const std::int64_t opset : {13, 17, 18, 20})
    expect_same(OneNode("GroupNormalization", {Dims{2, 6, 5, 2}, scale, bias}, {{"num_groups", integer(3)}}), x, opset);
}

TEST(LowerSemantics, ResizeOfSomeAxes) {
  const at::Tensor x = at::randn({1, 2, 4, 4});
  for (const std::int64_t opset : {11, 13, 17})
    expect_same(
        OneNode("Resize", {Dims{1, 2, 4, 4}, {}, floats({2, 1.5})}, {{"axes", Ints{2, 3}}, {"mode", text("linear")}}),
        x, opset);
}

}  // namespace
}  // namespace quench
