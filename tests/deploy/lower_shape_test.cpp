#include <gtest/gtest.h>

#include "deploy/lowered.h"

namespace quench {
namespace {

TEST(LowerShape, SplitSaysUnequalSizes) {
  const auto lowered = [](Dim dim, std::int64_t opset) {
    return OneNode("Split", {Dims{dim}}, {{"num_outputs", integer(2)}}, 2).lowered_to(opset);
  };
  EXPECT_EQ(lowered(6, 17), "out, out1 = Split(x)");
  EXPECT_EQ(lowered(7, 17), "out, out1 = Split(x, {4, 3})");
  EXPECT_EQ(lowered(Dim::symbol("N"), 17), "out, out1 = Split(x)");
  EXPECT_EQ(lowered(7, 18), "out, out1 = Split(x) num_outputs=2");
  EXPECT_EQ(lowered(7, 11), "out, out1 = Split(x) split=[4, 3]");
}

TEST(LowerShape, PadOfSomeAxesBecomesPadOfAll) {
  EXPECT_EQ(OneNode("Pad", {Dims{1, 3, 4}, ints({1, 2}), {}, ints({-1})}).lowered_to(17),
            "out = Pad(x, {0, 0, 1, 0, 0, 2})");
  EXPECT_EQ(OneNode("Pad", {Dims{4}, ints({1, 2}), at::scalar_tensor(1.5F)}).lowered_to(10),
            "out = Pad(x) pads=[1, 2] value=1.5");
  EXPECT_EQ(OneNode("Pad", {Dims{4}, ints({1, 2})}, {{"mode", text("wrap")}}).refused_by(18),
            "mode=wrap needs opset 19\n  while lowering node 'n' (Pad) to opset 18");
}

TEST(LowerShape, SliceAndTopKBelowTen) {
  EXPECT_EQ(OneNode("Slice", {Dims{4}, ints({0}), ints({2}), ints({0}), ints({1})}).lowered_to(9),
            "out = Slice(x) axes=[0] ends=[2] starts=[0]");
  EXPECT_EQ(OneNode("Slice", {Dims{4}, ints({0}), ints({2}), ints({0}), ints({2})}).refused_by(9),
            "steps other than 1 need opset 10\n  while lowering node 'n' (Slice) to opset 9");
  EXPECT_EQ(OneNode("TopK", {Dims{4}, ints({3})}, {{"largest", integer(1)}}, 2).lowered_to(9),
            "out, out1 = TopK(x) k=3");
}

TEST(LowerShape, PartOfAShapeIsSliced) {
  EXPECT_EQ(OneNode("Shape", {Dims{2, 3, 4}}, {{"start", integer(1)}}).lowered_to(14),
            "out_raw = Shape(x); out = Slice(out_raw, {1}, {2.14748e+09})");
  EXPECT_EQ(OneNode("Shape", {Dims{2, 3, 4}}, {{"start", integer(0)}, {"end", integer(-1)}}).lowered_to(13),
            "out_raw = Shape(x); out = Slice(out_raw, {0}, {-1})");
  EXPECT_EQ(OneNode("Shape", {Dims{2, 3, 4}}, {{"start", integer(1)}}).lowered_to(9),
            "out_raw = Shape(x); out = Slice(out_raw) ends=[2147483648] starts=[1]");
}

TEST(LowerShape, ReshapeMayDoWithoutAllowZero) {
  EXPECT_EQ(OneNode("Reshape", {Dims{4}, ints({2, 2})}, {{"allowzero", integer(1)}}).lowered_to(13),
            "out = Reshape(x, {2, 2})");
  EXPECT_EQ(OneNode("Reshape", {Dims{4}, ints({0, 2})}, {{"allowzero", integer(1)}}).refused_by(13),
            "allowzero=1 needs opset 14\n  while lowering node 'n' (Reshape) to opset 13");
  EXPECT_EQ(OneNode("Reshape", {Dims{4}, ints({0, 2})}, {{"allowzero", integer(0)}}).lowered_to(13),
            "out = Reshape(x, {0, 2})");
}

TEST(LowerShape, ScatterElements) {
  EXPECT_EQ(OneNode("ScatterElements", {Dims{4}, DType::kInt64, Dims{4}}, {{"reduction", text("none")}}).lowered_to(10),
            "out = Scatter(x, y, z)");
  EXPECT_EQ(OneNode("ScatterElements", {Dims{4}, DType::kInt64, Dims{4}}, {{"reduction", text("max")}}).refused_by(17),
            "reduction=max needs opset 18\n  while lowering node 'n' (ScatterElements) to opset 17");
  EXPECT_EQ(OneNode("ScatterND", {Dims{4}, DType::kInt64, Dims{4}}, {{"reduction", text("add")}}).refused_by(13),
            "node 'n' (ScatterND): ScatterND of opset 13 has no attribute 'reduction'; opset 16 does");
}

}  // namespace
}  // namespace quench
