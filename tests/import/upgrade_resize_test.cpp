#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"

namespace quench {
namespace {

using Text = std::string;

TEST(UpgradeResize, UpsampleOfEveryVersionBecomesResize) {
  const char* resize =
      "out = Resize(x, -, {1, 1, 2, 3}) coordinate_transformation_mode=asymmetric mode=linear nearest_mode=floor";
  EXPECT_EQ(
      OneNode("Upsample", {{"height_scale", 2.0}, {"width_scale", 3.0}, {"mode", Text("bilinear")}}).upgraded_from(1),
      resize);
  EXPECT_EQ(OneNode("Upsample", {{"scales", Floats{1, 1, 2, 3}}, {"mode", Text("linear")}}).upgraded_from(7), resize);
  EXPECT_EQ(OneNode("Upsample", {{1, 1, 4, 4}, {4}}, {}).upgraded_from(9),
            "out = Resize(x, -, y) coordinate_transformation_mode=asymmetric nearest_mode=floor");
}

TEST(UpgradeResize, ResizeOfTenSaysItsCoordinates) {
  EXPECT_EQ(OneNode("Resize", {{1, 1, 4, 4}, {4}}, {}).upgraded_from(10),
            "out = Resize(x, -, y) coordinate_transformation_mode=asymmetric nearest_mode=floor");
}

TEST(UpgradeResize, EmptyInputsAreAbsent) {
  EXPECT_EQ(OneNode("Resize", {{1, 1, 4, 4}, {0}, {0}, {4}}, {}).upgraded_from(11), "out = Resize(x, -, -, u)");
  EXPECT_EQ(OneNode("Resize", {{1, 1, 4, 4}, {0}, {4}, {0}}, {}).upgraded_from(11), "out = Resize(x, -, z)");
}

TEST(UpgradeResize, TfHalfPixelIsHalfPixelWithAnotherRounding) {
  const auto upgraded = [](const Text& rounding, const Text& mode) {
    return OneNode("Resize", {{1, 1, 4, 4}, {8}, {4}},
                   {{"coordinate_transformation_mode", Text("tf_half_pixel_for_nn")},
                    {"nearest_mode", rounding},
                    {"mode", mode}})
        .upgraded_from(11);
  };
  EXPECT_EQ(
      upgraded("floor", "nearest"),
      "out = Resize(x, y, z) coordinate_transformation_mode=half_pixel mode=nearest nearest_mode=round_prefer_ceil");
  EXPECT_EQ(upgraded("round_prefer_floor", "nearest"),
            "out = Resize(x, y, z) coordinate_transformation_mode=half_pixel mode=nearest nearest_mode=ceil");
  EXPECT_NE(message_of([&] { upgraded("floor", "linear"); }).find("tf_half_pixel_for_nn was removed in opset 13"),
            Text::npos);
}

TEST(UpgradeResize, GridSampleModesAreRenamed) {
  EXPECT_EQ(OneNode("GridSample", {{1, 1, 2, 2}, {1, 3, 3, 2}}, {}).upgraded_from(16),
            "out = GridSample(x, y) mode=linear");
  EXPECT_EQ(OneNode("GridSample", {{1, 1, 2, 2}, {1, 3, 3, 2}}, {{"mode", Text("bicubic")}}).upgraded_from(19),
            "out = GridSample(x, y) mode=cubic");
  EXPECT_EQ(OneNode("GridSample", {{1, 1, 2, 2}, {1, 3, 3, 2}}, {{"mode", Text("nearest")}}).upgraded_from(16),
            "out = GridSample(x, y) mode=nearest");
}

TEST(UpgradeResize, RoiAlignSaysItsCoordinates) {
  EXPECT_EQ(OneNode("RoiAlign", {{1, 1, 4, 4}, {2, 4}, {2}}, {}).upgraded_from(10),
            "out = RoiAlign(x, y, z) coordinate_transformation_mode=output_half_pixel");
}

}  // namespace
}  // namespace quench
