#include <gtest/gtest.h>

#include "deploy/lowered.h"

namespace quench {
namespace {

TEST(LowerNorm, BatchNormSaysItsModeByItsOutputs) {
  const std::vector<In> inputs{Dims{2, 3}, Dims{3}, Dims{3}, Dims{3}, Dims{3}};
  EXPECT_EQ(OneNode("BatchNormalization", inputs, {{"training_mode", integer(0)}}).lowered_to(13),
            "out = BatchNormalization(x, y, z, u, v)");
  EXPECT_EQ(OneNode("BatchNormalization", inputs, {{"training_mode", integer(1)}}, 3).lowered_to(13),
            "out, out1, out2 = BatchNormalization(x, y, z, u, v)");
  EXPECT_EQ(OneNode("BatchNormalization", inputs, {{"training_mode", integer(1)}}).refused_by(13),
            "training_mode=1 with one output cannot be expressed below opset 14\n"
            "  while lowering node 'n' (BatchNormalization) to opset 13");
}

TEST(LowerNorm, GroupNormScalesByNodesOfTheirOwn) {
  const auto group_norm = [] {
    return OneNode("GroupNormalization", {Dims{2, 4, 5}, floats({1, 2, 3, 4}), floats({5, 6, 7, 8})},
                   {{"num_groups", integer(2)}, {"epsilon", 0.5}, {"stash_type", integer(1)}});
  };
  EXPECT_EQ(group_norm().lowered_to(21),
            "out = GroupNormalization(x, {1, 2, 3, 4}, {5, 6, 7, 8}) epsilon=0.5 num_groups=2 stash_type=1");
  EXPECT_EQ(group_norm().lowered_to(20),
            "n_Shape = Shape(x); n_Reshape = Reshape(x, {0, 2, -1}); "
            "out_raw_raw_raw = InstanceNormalization(n_Reshape, {1, 1}, {0, 0}) epsilon=0.5; "
            "out_raw_raw = Reshape(out_raw_raw_raw, n_Shape); out_raw = Mul(out_raw_raw, {1, 2, 3, 4}); "
            "out = Add(out_raw, {5, 6, 7, 8})");
}

TEST(LowerQuantize, TheZeroPointSaysTheType) {
  const at::Tensor scale = at::scalar_tensor(0.5F);
  EXPECT_EQ(OneNode("QuantizeLinear", {Dims{2}, scale}, {{"output_dtype", integer(3)}}).lowered_to(13),
            "out = QuantizeLinear(x, {0.5}, {0})");
  OneNode one("QuantizeLinear", {Dims{2}, scale}, {{"output_dtype", integer(3)}});
  one.lowered_to(19);
  EXPECT_EQ(one.node->input(2)->type().text(), "int8[]");
  EXPECT_EQ(OneNode("QuantizeLinear", {Dims{2}, scale}, {{"output_dtype", integer(21)}}).refused_by(20),
            "node 'n' (QuantizeLinear): QuantizeLinear of opset 20 does not take uint4 for input 2 "
            "('n_zero_point'); opset 21 does");
  EXPECT_EQ(OneNode("QuantizeLinear", {Dims{2}, scale}, {{"block_size", integer(16)}}).refused_by(20),
            "node 'n' (QuantizeLinear): QuantizeLinear of opset 20 has no attribute 'block_size'; opset 21 does");
}

TEST(LowerQuantize, OneScaleBelowThirteen) {
  const at::Tensor scale = at::scalar_tensor(0.5F);
  EXPECT_EQ(OneNode("DequantizeLinear", {DType::kInt8, scale}, {{"axis", integer(0)}}).lowered_to(12),
            "out = DequantizeLinear(x, {0.5})");
  EXPECT_EQ(OneNode("DequantizeLinear", {DType::kInt8, Dims{3}}, {{"axis", integer(0)}}).refused_by(12),
            "a scale per channel needs opset 13\n  while lowering node 'n' (DequantizeLinear) to opset 12");
}

}  // namespace
}  // namespace quench
