#include <gtest/gtest.h>

#include "deploy/lowered.h"

namespace quench {
namespace {

TEST(LowerResize, AxesAreFilledUp) {
  EXPECT_EQ(OneNode("Resize", {Dims{1, 3, 4, 4}, {}, floats({2, 3})}, {{"axes", Ints{2, 3}}}).lowered_to(17),
            "out = Resize(x, -, {1, 1, 2, 3})");
  EXPECT_EQ(OneNode("Resize", {Dims{1, 3, 4, 4}, {}, {}, ints({8, 9})}, {{"axes", Ints{-2, -1}}}).lowered_to(17),
            "out = Resize(x, -, -, {1, 3, 8, 9})");
  EXPECT_EQ(OneNode("Resize", {Dims{Dim::symbol("N"), 3, 4}, {}, {}, ints({8})}, {{"axes", Ints{2}}}).refused_by(17),
            "with 'axes', the dim of axis 0 must be known below opset 18\n"
            "  while lowering node 'n' (Resize) to opset 17");
}

TEST(LowerResize, AbsentInputsAreEmptyBelowThirteen) {
  EXPECT_EQ(OneNode("Resize", {Dims{1, 3, 4, 4}, {}, {}, ints({1, 3, 8, 8})}).lowered_to(12),
            "out = Resize(x, {}, {}, {1, 3, 8, 8})");
}

TEST(LowerResize, BelowElevenOnlyAsymmetric) {
  const auto resize = [](const char* mode) {
    return OneNode("Resize", {Dims{1, 3, 4, 4}, {}, floats({1, 1, 2, 2})},
                   {{"coordinate_transformation_mode", text(mode)}, {"nearest_mode", text("floor")}});
  };
  EXPECT_EQ(resize("asymmetric").lowered_to(10), "out = Resize(x, {1, 1, 2, 2})");
  EXPECT_EQ(resize("half_pixel").refused_by(10),
            "below opset 11 Resize takes scales, and is asymmetric with nearest_mode=floor\n"
            "  while lowering node 'n' (Resize) to opset 10");
  EXPECT_EQ(resize("half_pixel_symmetric").refused_by(18),
            "coordinate_transformation_mode=half_pixel_symmetric needs opset 19\n"
            "  while lowering node 'n' (Resize) to opset 18");
}

TEST(LowerResize, OtherSampling) {
  EXPECT_EQ(OneNode("GridSample", {Dims{1, 1, 2, 2}, Dims{1, 2, 2, 2}}).lowered_to(16),
            "out = GridSample(x, y) mode=bilinear");
  EXPECT_EQ(OneNode("GridSample", {Dims{1, 1, 2, 2, 2}, Dims{1, 2, 2, 2, 3}}).refused_by(16),
            "an input of rank 5 needs opset 20\n  while lowering node 'n' (GridSample) to opset 16");
  const std::vector<In> rois{Dims{1, 1, 2, 2}, Dims{1, 4}, DType::kInt64};
  EXPECT_EQ(OneNode("RoiAlign", rois, {{"coordinate_transformation_mode", text("output_half_pixel")}}).lowered_to(13),
            "out = RoiAlign(x, y, z)");
  EXPECT_EQ(OneNode("RoiAlign", rois).refused_by(13),
            "coordinate_transformation_mode=half_pixel needs opset 16\n"
            "  while lowering node 'n' (RoiAlign) to opset 13");
}

TEST(LowerResize, DilationsOfOneNeedNotBeSaid) {
  EXPECT_EQ(OneNode("AveragePool", {Dims{1, 1, 4}}, {{"kernel_shape", Ints{2}}, {"dilations", Ints{1}}}).lowered_to(13),
            "out = AveragePool(x) kernel_shape=[2]");
  EXPECT_EQ(OneNode("AveragePool", {Dims{1, 1, 4}}, {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}}).refused_by(13),
            "node 'n' (AveragePool): AveragePool of opset 13 has no attribute 'dilations'; opset 19 does");
}

TEST(LowerResize, DftSaysItsAxis) {
  EXPECT_EQ(OneNode("DFT", {Dims{1, 8, 1}}).lowered_to(17), "out = DFT(x) axis=1");
  EXPECT_EQ(OneNode("DFT", {Dims{1, 8, 4, 1}, {}, at::scalar_tensor(1, at::kLong)}).lowered_to(17),
            "out = DFT(x) axis=1");
}

}  // namespace
}  // namespace quench
