#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

RtValue ints(const Ints& values) { return at::tensor(values, at::kLong); }

TEST(GridSample, SamplesWhereTheGridPoints) {
  const at::Tensor x = at::randn({1, 2, 4, 5});
  const at::Tensor theta = at::tensor({1.0F, 0.0F, 0.0F, 0.0F, 1.0F, 0.0F}).reshape({1, 2, 3});
  const at::Tensor grid = run_checked("AffineGrid", {theta, ints({1, 2, 4, 5})});
  EXPECT_LT(distance(run_checked("GridSample", {x, grid}), x), 1e-5);
  EXPECT_LT(distance(run_checked("GridSample", {x, grid}, {{"mode", "nearest"}}), x), 1e-6);
  const at::Tensor wide = grid * 1.7;
  EXPECT_EQ(distance(run_checked("GridSample", {x, wide}, {{"mode", "cubic"}, {"padding_mode", "reflection"}}),
                     at::grid_sampler(x, wide, 2, 2, false)),
            0.0);
  EXPECT_NE(error_of({"GridSample", {{"mode", "bilinear"}}}, {x, grid}).find("known: linear, nearest, cubic"),
            std::string::npos);
}

TEST(DepthToSpace, UndoesSpaceToDepth) {
  const at::Tensor x = at::randn({2, 3, 4, 6});
  const Attr two = std::int64_t{2};
  const at::Tensor deep = run_checked("SpaceToDepth", {x}, {{"blocksize", two}});
  EXPECT_EQ(deep.sizes(), (Ints{2, 12, 2, 3}));
  EXPECT_TRUE(at::equal(run_checked("DepthToSpace", {deep}, {{"blocksize", two}}), x));
  EXPECT_TRUE(at::equal(run_checked("DepthToSpace", {deep}, {{"blocksize", two}, {"mode", "CRD"}}),
                        at::pixel_shuffle(deep, 2)));
  EXPECT_NE(error_of({"SpaceToDepth", {{"blocksize", std::int64_t{4}}}}, {x}).find("must be multiples of 4"),
            std::string::npos);
}

TEST(CenterCropPad, PutsTheOddElementAtTheEnd) {
  const at::Tensor x = at::arange(5, at::kFloat).reshape({1, 5});
  EXPECT_TRUE(at::equal(run_checked("CenterCropPad", {x, ints({1, 2})}), at::tensor({1.0F, 2.0F}).reshape({1, 2})));
  const at::Tensor wide = run_checked("CenterCropPad", {x, ints({8})}, {{"axes", Ints{-1}}});
  EXPECT_TRUE(at::equal(wide, at::tensor({0.0F, 0.0F, 1.0F, 2.0F, 3.0F, 4.0F, 0.0F, 0.0F}).reshape({1, 8})));
}

TEST(MaxUnpool, PutsMaximaBack) {
  const at::Tensor x = at::rand({2, 3, 4, 6});
  const Attrs attrs{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const auto pooled = CheckedOp{"MaxPool", attrs, 2}({x});
  const at::Tensor y = run_checked("MaxUnpool", {pooled[0], pooled[1]}, attrs);
  EXPECT_EQ(y.sizes(), x.sizes());
  EXPECT_TRUE(at::equal(run_checked("MaxPool", {y}, attrs), pooled[0].tensor()));
  EXPECT_TRUE(y.eq(x).logical_or(y == 0).all().item<bool>());
  const at::Tensor larger = run_checked("MaxUnpool", {pooled[0], pooled[1], ints({2, 3, 5, 7})}, attrs);
  EXPECT_TRUE(at::equal(larger.narrow(2, 0, 4).narrow(3, 0, 6), y));
}

TEST(Col2Im, IsLibTorchsFold) {
  const at::Tensor x = at::randn({2, 3 * 6, 20});
  const Attrs attrs{{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{1, 2}}, {"dilations", Ints{2, 1}}};
  const at::Tensor y = run_checked("Col2Im", {x, ints({5, 8}), ints({2, 3})}, attrs);
  EXPECT_LT(distance(y, at::col2im(x, {5, 8}, {2, 3}, {2, 1}, {1, 1}, {1, 2})), 1e-5);
  EXPECT_LT(gradient_error({"Col2Im", attrs}, {x.to(at::kDouble), ints({5, 8}), ints({2, 3})}, 1), 1e-6);
}

TEST(RoiAlign, AveragesALinearRampExactly) {
  const at::Tensor ramp = at::arange(10, at::kDouble).reshape({1, 1, 1, 10}).expand({1, 1, 10, 10}).contiguous();
  const at::Tensor boxes = at::tensor({2.0, 2.0, 6.0, 6.0}, at::kDouble).reshape({1, 4});
  const Attrs attrs{
      {"output_height", std::int64_t{2}}, {"output_width", std::int64_t{2}}, {"sampling_ratio", std::int64_t{2}}};
  const at::Tensor y = run_checked("RoiAlign", {ramp, boxes, ints({0})}, attrs);
  EXPECT_NEAR(y[0][0][0][0].item<double>(), 2.5, 1e-9);  // the bin [1.5, 3.5)
  EXPECT_NEAR(y[0][0][1][1].item<double>(), 4.5, 1e-9);
  EXPECT_LT(gradient_error({"RoiAlign", attrs}, {ramp + at::rand_like(ramp), boxes, ints({0})}, 1), 1e-6);
  EXPECT_NE(error_of({"RoiAlign", attrs}, {ramp, boxes, ints({3})}).find("box 0 lies in image 3 of 1"),
            std::string::npos);
}

TEST(MaxRoiPool, TakesTheLargestOfEachBin) {
  const at::Tensor x = at::arange(16, at::kFloat).reshape({1, 1, 4, 4});
  const at::Tensor boxes = at::tensor({0.0F, 0.0F, 0.0F, 3.0F, 3.0F}).reshape({1, 5});
  const at::Tensor y = run_checked("MaxRoiPool", {x, boxes}, {{"pooled_shape", Ints{2, 2}}});
  EXPECT_TRUE(at::equal(y.flatten(), at::tensor({5.0F, 7.0F, 13.0F, 15.0F})));
}

TEST(DeformConv, WithoutOffsetsIsConv) {
  const at::Tensor x = at::randn({2, 4, 6, 7}, at::kDouble), w = at::randn({6, 2, 3, 2}, at::kDouble);
  const at::Tensor b = at::randn({6}, at::kDouble);
  const Attrs attrs{{"group", std::int64_t{2}},
                    {"offset_group", std::int64_t{2}},
                    {"pads", Ints{1, 0, 1, 1}},
                    {"strides", Ints{1, 2}}};
  const at::Tensor expected =
      run_checked("Conv", {x, w, b}, {{"group", std::int64_t{2}}, {"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{1, 2}}});
  const at::Tensor none = at::zeros({2, 2 * 6 * 2, expected.size(2), expected.size(3)}, at::kDouble);
  EXPECT_LT(distance(run_checked("DeformConv", {x, w, none, b}, attrs), expected), 1e-9);
  const at::Tensor half = at::full({2, 2 * 6, expected.size(2), expected.size(3)}, 0.5, at::kDouble);
  EXPECT_LT(distance(run_checked("DeformConv", {x, w, none, RtValue(), half}, attrs),
                     (expected - b.reshape({6, 1, 1})) * 0.5),
            1e-9);
}

// Offsets of one whole pixel to the right look at the shifted image.
TEST(DeformConv, MovesByWholePixels) {
  const at::Tensor x = at::randn({1, 1, 5, 6}, at::kDouble), w = at::randn({1, 1, 1, 1}, at::kDouble);
  at::Tensor offset = at::zeros({1, 2, 5, 6}, at::kDouble);
  offset.select(1, 1).fill_(1.0);
  const at::Tensor y = run_checked("DeformConv", {x, w, offset});
  EXPECT_LT(distance(y.narrow(3, 0, 5), x.narrow(3, 1, 5) * w), 1e-9);
  EXPECT_LT(y.select(3, 5).abs().max().item<double>(), 1e-9);
}

}  // namespace
}  // namespace quench
