#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"
#include "ops/resample.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

at::Tensor resize_by(const at::Tensor& x, const std::vector<float>& scales, Attrs attrs) {
  return run_checked("Resize", {x, RtValue(), at::tensor(scales)}, attrs);
}

at::Tensor resize_to(const at::Tensor& x, const Ints& sizes, Attrs attrs) {
  return run_checked("Resize", {x, RtValue(), RtValue(), at::tensor(sizes, at::kLong)}, attrs);
}

TEST(Resize, NearestRepeatsElements) {
  const at::Tensor x = at::randn({1, 2, 3, 4});
  const at::Tensor expected = at::upsample_nearest2d(x, {6, 12});
  EXPECT_TRUE(at::equal(resize_by(x, {1, 1, 2, 3}, {}), expected));
  EXPECT_TRUE(at::equal(resize_by(x.to(at::kDouble).to(at::kInt), {1, 1, 2, 3}, {}), expected.to(at::kInt)));
  EXPECT_TRUE(at::equal(
      resize_by(x, {1, 1, 2, 3}, {{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}}),
      expected));
}

TEST(Resize, NearestModesDifferWhereTheyShould) {
  const at::Tensor x = at::arange(4, at::kFloat).reshape({1, 1, 1, 4});
  const auto row = [&](const char* mode) {
    return resize_by(x, {1, 1, 1, 2}, {{"coordinate_transformation_mode", "half_pixel"}, {"nearest_mode", mode}})
        .flatten();
  };
  EXPECT_TRUE(at::equal(row("floor"), at::tensor({0.0F, 0.0F, 0.0F, 1.0F, 1.0F, 2.0F, 2.0F, 3.0F})));
  EXPECT_TRUE(at::equal(row("ceil"), at::tensor({0.0F, 1.0F, 1.0F, 2.0F, 2.0F, 3.0F, 3.0F, 3.0F})));
}

TEST(Resize, LinearAndCubicAreLibTorchs) {
  const at::Tensor x = at::randn({2, 3, 6, 5});
  EXPECT_LT(distance(resize_to(x, {2, 3, 9, 11}, {{"mode", "linear"}}), at::upsample_bilinear2d(x, {9, 11}, false)),
            1e-5);
  const Attr corners = "align_corners";
  EXPECT_LT(distance(resize_to(x, {2, 3, 9, 11}, {{"mode", "linear"}, {"coordinate_transformation_mode", corners}}),
                     at::upsample_bilinear2d(x, {9, 11}, true)),
            1e-5);
  EXPECT_LT(distance(resize_to(x, {2, 3, 9, 11}, {{"mode", "cubic"}}), at::upsample_bicubic2d(x, {9, 11}, false)),
            1e-5);
  // LibTorch's antialias leaves out what lies beyond the edge.
  const Attr on = std::int64_t{1};
  EXPECT_LT(distance(resize_to(x, {2, 3, 3, 2}, {{"mode", "linear"}, {"antialias", on}, {"exclude_outside", on}}),
                     at::_upsample_bilinear2d_aa(x, {3, 2}, false)),
            1e-5);
}

// The general way, by matrices, must give what the direct kernel gives.
TEST(Resize, MatricesEqualTheDirectKernel) {
  const at::Tensor x = at::randn({1, 1, 5, 7}, at::kDouble), direct = resize_to(x, {1, 1, 8, 4}, {{"mode", "linear"}});
  const at::Tensor volume = resize_to(x.unsqueeze(2), {1, 1, 1, 8, 4}, {{"mode", "linear"}}).squeeze(2);
  EXPECT_LT(distance(direct, volume), 1e-12);
}

// A length of 4 * 0.8 = 3.2 is cut to 3 elements, but the corners are aligned by 3.2: so ONNX's own cases say.
TEST(Resize, AlignsCornersByTheUncutLength) {
  const at::Tensor x = at::arange(4, at::kDouble).reshape({1, 1, 1, 4});
  const Attrs attrs{{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}};
  const double step = 3 / (4 * static_cast<double>(0.8F) - 1);
  EXPECT_LT(distance(resize_by(x, {1, 1, 1, 0.8F}, attrs).flatten(), at::arange(3, at::kDouble) * step), 1e-9);
}

TEST(Resize, WeightsSumToOneInEveryMode) {
  for (const char* mode : {"linear", "cubic"})
    for (const bool antialias : {false, true})
      for (const bool exclude : {false, true}) {
        const ResampleRule rule{mode, "half_pixel", "floor", -0.75, exclude, antialias};
        const std::vector<double> weights = resample_weights({10, 4, 0.4}, rule);
        const at::Tensor sums = at::tensor(weights, at::kDouble).reshape({4, 10}).sum(1);
        EXPECT_LT(distance(sums, at::ones({4}, at::kDouble)), 1e-12);
      }
}

TEST(Resize, CropsARegionAndFillsWhatLiesOutside) {
  const at::Tensor x = at::arange(16, at::kFloat).reshape({1, 1, 4, 4});
  const Attrs attrs{
      {"mode", "linear"}, {"coordinate_transformation_mode", "tf_crop_and_resize"}, {"extrapolation_value", 10.0}};
  const at::Tensor roi = at::tensor({0.0F, 0.0F, 0.0F, 0.0F, 1.0F, 1.0F, 2.0F, 1.0F});
  const at::Tensor y = run_checked("Resize", {x, roi, RtValue(), at::tensor({1, 1, 3, 4}, at::kLong)}, attrs);
  EXPECT_TRUE(at::equal(y[0][0][0], x[0][0][0]));
  EXPECT_TRUE(at::equal(y[0][0][1], x[0][0][3]));
  EXPECT_TRUE(at::equal(y[0][0][2], at::full({4}, 10.0F)));
}

TEST(Resize, KeepsTheAspectRatioOnSomeAxes) {
  const at::Tensor x = at::randn({1, 3, 10, 20});
  const Attrs base{{"axes", Ints{2, 3}}};
  Attrs larger = base, smaller = base;
  larger["keep_aspect_ratio_policy"] = "not_larger";
  smaller["keep_aspect_ratio_policy"] = "not_smaller";
  EXPECT_EQ(resize_to(x, {5, 7}, base).sizes(), (Ints{1, 3, 5, 7}));
  EXPECT_EQ(resize_to(x, {5, 7}, larger).sizes(), (Ints{1, 3, 4, 7}));
  EXPECT_EQ(resize_to(x, {5, 7}, smaller).sizes(), (Ints{1, 3, 5, 10}));
}

TEST(Resize, HasItsGradient) {
  const at::Tensor x = at::randn({1, 2, 4, 5}, at::kDouble), scales = at::tensor({1.0F, 1.0F, 1.6F, 0.7F});
  for (const char* mode : {"nearest", "linear", "cubic"})
    EXPECT_LT(gradient_error({"Resize", {{"mode", mode}}}, {x, RtValue(), scales}, 1), 1e-6) << mode;
}

TEST(Resize, NamesAnUnknownMode) {
  const at::Tensor x = at::randn({1, 1, 2, 2}), scales = at::tensor({1.0F, 1.0F, 2.0F, 2.0F});
  EXPECT_NE(error_of({"Resize", {{"mode", "bilinear"}}}, {x, RtValue(), scales}).find("known: nearest, linear, cubic"),
            std::string::npos);
  EXPECT_NE(error_of({"Resize", {}}, {x, RtValue(), at::tensor({2.0F})}).find("1 scales or sizes for 4 axes"),
            std::string::npos);
}

}  // namespace
}  // namespace quench
