#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;
const Attr kOn = std::int64_t{1};

TEST(MaxPool, IsLibTorchsWherePadsAreEqual) {
  const at::Tensor x = at::randn({2, 3, 9, 8});
  const Attrs attrs{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
  EXPECT_TRUE(at::equal(run_checked("MaxPool", {x}, attrs), at::max_pool2d(x, 3, 2, 1)));
  Attrs ceil = attrs;
  ceil["ceil_mode"] = kOn;
  EXPECT_TRUE(at::equal(run_checked("MaxPool", {x}, ceil), at::max_pool2d(x, 3, 2, 1, 1, true)));
}

TEST(MaxPool, TakesUnequalPadsAndBytes) {
  const at::Tensor x = at::randint(-100, 100, {1, 2, 5, 5}).to(at::kChar);
  const at::Tensor y = run_checked("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}});
  const at::Tensor padded = at::constant_pad_nd(x.to(at::kFloat), {0, 1, 0, 1}, -1000.0);
  EXPECT_TRUE(at::equal(y, at::max_pool2d(padded, 2, 1).to(at::kChar)));
}

// Every index must lead to the element that was taken, in either order, with unequal pads too.
TEST(MaxPool, IndicesLeadToTheElements) {
  const at::Tensor x = at::randn({2, 3, 5, 7});
  for (const Ints& pads : {Ints{1, 1, 1, 1}, Ints{0, 1, 1, 0}}) {
    for (const std::int64_t order : {0, 1}) {
      const CheckedOp pool{
          "MaxPool",
          {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", pads}, {"storage_order", order}},
          2};
      const auto results = pool({x});
      const at::Tensor flat = order == 0 ? x.reshape({-1}) : x.transpose(2, 3).reshape({-1});
      EXPECT_TRUE(at::equal(flat.take(results[1].tensor()), results[0].tensor()));
    }
  }
}

// Mean of the elements of each window by plain loops; one spatial dim.
at::Tensor plain_average(const at::Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                         std::int64_t begin, std::int64_t count) {
  at::Tensor y = at::zeros({1, 1, count}, at::kDouble);
  for (std::int64_t o = 0; o < count; ++o) {
    double sum = 0.0, taken = 0.0;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = o * stride + k * dilation - begin;
      if (at < 0 || at >= x.size(2)) continue;
      sum += x[0][0][at].item<double>();
      taken += 1.0;
    }
    y[0][0][o] = sum / taken;
  }
  return y;
}

TEST(AveragePool, LeavesPadsOutOfTheMean) {
  const at::Tensor x = at::randn({1, 1, 10}, at::kDouble);
  EXPECT_LT(distance(run_checked("AveragePool", {x},
                                 {{"kernel_shape", Ints{3}}, {"dilations", Ints{2}}, {"pads", Ints{2, 1}}}),
                     plain_average(x, 3, 1, 2, 2, 9)),
            1e-12);
  EXPECT_LT(
      distance(run_checked("AveragePool", {x},
                           {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 0}}, {"ceil_mode", kOn}}),
               plain_average(x, 3, 2, 1, 1, 5)),
      1e-12);
}

TEST(AveragePool, CountsPadsButNotWhatCeilModeAdds) {
  const at::Tensor x = at::ones({1, 1, 4, 4});
  const Attrs attrs{{"kernel_shape", Ints{3, 3}},
                    {"strides", Ints{2, 2}},
                    {"pads", Ints{1, 1, 0, 0}},
                    {"ceil_mode", kOn},
                    {"count_include_pad", kOn}};
  const at::Tensor y = run_checked("AveragePool", {x}, attrs);
  EXPECT_EQ(y.sizes(), (Ints{1, 1, 2, 2}));
  EXPECT_NEAR(y[0][0][0][0].item<double>(), 4.0 / 9.0, 1e-6);
  EXPECT_NEAR(y[0][0][1][1].item<double>(), 1.0, 1e-6);
  const at::Tensor z = at::randn({1, 2, 7, 7});
  EXPECT_LT(distance(run_checked("AveragePool", {z},
                                 {{"kernel_shape", Ints{3, 3}},
                                  {"strides", Ints{2, 2}},
                                  {"pads", Ints{1, 1, 1, 1}},
                                  {"count_include_pad", kOn}}),
                     at::avg_pool2d(z, 3, 2, 1, false, true)),
            1e-6);
}

TEST(AveragePool, WorksInOneAndThreeDims) {
  const at::Tensor x1 = at::randn({2, 3, 8}), x3 = at::randn({1, 2, 4, 5, 6});
  EXPECT_LT(distance(run_checked("AveragePool", {x1}, {{"kernel_shape", Ints{2}}}), at::avg_pool1d(x1, 2, 1)), 1e-6);
  EXPECT_LT(
      distance(run_checked("AveragePool", {x3}, {{"kernel_shape", Ints{2, 3, 2}}}), at::avg_pool3d(x3, {2, 3, 2}, 1)),
      1e-6);
}

TEST(LpPool, IsTheNormOfEachWindow) {
  const at::Tensor x = at::randn({1, 2, 6, 6}, at::kDouble);
  const at::Tensor y = run_checked("LpPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"p", std::int64_t{3}}});
  EXPECT_LT(distance(y, (at::avg_pool2d(x.abs().pow(3), 2, 1) * 4).pow(1.0 / 3)), 1e-12);
}

TEST(GlobalPool, ReducesEveryPlane) {
  const at::Tensor x = at::randn({2, 3, 4, 5}), line = at::randn({2, 3, 7});
  EXPECT_LT(distance(run_checked("GlobalAveragePool", {x}), x.mean({2, 3}, true)), 1e-6);
  EXPECT_LT(distance(run_checked("GlobalAveragePool", {line}), line.mean({2}, true)), 1e-6);
  EXPECT_EQ(distance(run_checked("GlobalMaxPool", {x}), x.amax({2, 3}, true)), 0.0);
  EXPECT_LT(distance(run_checked("GlobalLpPool", {x}), x.square().sum({2, 3}, true).sqrt()), 1e-5);
}

TEST(Pool, HasItsGradient) {
  const at::Tensor x = at::randn({2, 2, 6, 5}, at::kDouble);
  const Attrs even{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 1}}};
  const Attrs odd{{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 0, 0, 1}}};
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    EXPECT_LT(gradient_error({op, even}, {x}, 1), 1e-6) << op;
    EXPECT_LT(gradient_error({op, odd}, {x}, 1), 1e-6) << op;
  }
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
    EXPECT_LT(gradient_error({op, {}}, {x}, 1), 1e-6) << op;
}

TEST(Pool, RefusesAWindowThatDoesNotFit) {
  EXPECT_NE(error_of({"MaxPool", {{"kernel_shape", Ints{5, 5}}}}, {at::randn({1, 1, 4, 4})})
                .find("a window of 5 does not fit into 4 with pads 0 and 0"),
            std::string::npos);
  EXPECT_NE(error_of({"MaxPool", {}}, {at::randn({1, 1, 4, 4})}).find("kernel_shape is missing"), std::string::npos);
}

}  // namespace
}  // namespace quench
