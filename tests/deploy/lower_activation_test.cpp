#include <gtest/gtest.h>

#include "deploy/lowered.h"

namespace quench {
namespace {

TEST(LowerActivation, ClipBelowEleven) {
  const at::Tensor zero = at::scalar_tensor(0.0F), six = at::scalar_tensor(6.0F);
  EXPECT_EQ(OneNode("Clip", {Dims{2}, zero, six}).lowered_to(10), "out = Clip(x) max=6 min=0");
  EXPECT_EQ(OneNode("Clip", {Dims{2}, {}, six}).lowered_to(10), "out = Clip(x) max=6");
  EXPECT_EQ(OneNode("Clip", {Dims{2}, zero, six}).lowered_to(11), "out = Clip(x, {0}, {6})");
  EXPECT_EQ(OneNode("Clip", {Dims{2}, Dims{}}).refused_by(10),
            "'min' is an attribute there, so input 1 must be a constant of one element\n"
            "  while lowering node 'n' (Clip) to opset 10");
}

TEST(LowerActivation, DropoutBelowTwelve) {
  const at::Tensor ratio = at::scalar_tensor(0.25F);
  EXPECT_EQ(OneNode("Dropout", {Dims{2}, ratio, at::scalar_tensor(false, at::kBool)}).lowered_to(10),
            "out = Dropout(x) ratio=0.25");
  EXPECT_EQ(OneNode("Dropout", {Dims{2}, ratio, at::scalar_tensor(true, at::kBool)}).refused_by(10),
            "training_mode=1 needs opset 12\n  while lowering node 'n' (Dropout) to opset 10");
  EXPECT_EQ(OneNode("Dropout", {Dims{2}, ratio}, {}, 2).lowered_to(9),
            "out, out1_raw = Dropout(x) ratio=0.25; out1 = Cast(out1_raw) to=9");
}

TEST(LowerActivation, SoftmaxBelowThirteen) {
  EXPECT_EQ(OneNode("Softmax", {Dims{2, 5, 3}}).lowered_to(12), "out = Softmax(x) axis=2");
  EXPECT_EQ(OneNode("LogSoftmax", {Dims{2, 5, 3}}, {{"axis", integer(1)}}).refused_by(12),
            "axis=1 of rank 3 is not the last, which needs opset 13\n"
            "  while lowering node 'n' (LogSoftmax) to opset 12");
}

TEST(LowerActivation, CastSaturatesFloat8Only) {
  EXPECT_EQ(OneNode("Cast", {Dims{2}}, {{"to", integer(10)}, {"saturate", integer(0)}}).lowered_to(13),
            "out = Cast(x) to=10");
  EXPECT_EQ(OneNode("Cast", {Dims{2}}, {{"to", integer(17)}, {"saturate", integer(0)}}).refused_by(13),
            "node 'n' (Cast): Cast of opset 13 has no attribute 'saturate'; opset 19 does");
}

}  // namespace
}  // namespace quench
