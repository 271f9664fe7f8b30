#include "kernels/statistics/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/layouts.h"

namespace quench {
namespace {

void expect_same(const at::Tensor& found, const at::Tensor& wanted, const std::string& name) {
  ASSERT_EQ(found.numel(), wanted.numel()) << name;
  EXPECT_TRUE(at::equal(found.flatten(), wanted.flatten())) << name << "\n" << found.flatten() << wanted.flatten();
}

TEST(MinMax, EqualsATenInEveryLayout) {
  for (const LayoutCase& one : layout_cases("int8 symmetric")) {
    const at::Tensor rows = rows_by_aten(one.x, one.scheme);
    at::Tensor min, max;
    for (const auto function : {min_max, min_max_ref}) {
      function(one.x, one.scheme, min, max);
      EXPECT_EQ(min.sizes().vec(), one.scheme.scale_shape(one.x.sizes().vec())) << one.name;
      expect_same(min, at::amin(rows, 1), one.name);
      expect_same(max, at::amax(rows, 1), one.name);
    }
  }
}

TEST(MinMax, NaNAnywhereIsSeen) {
  for (const std::int64_t at : {0, 1, 17, 40, 63, 64, 99, 9998})
    for (const auto function : {min_max, min_max_ref}) {
      const at::Tensor x = at::randn({10000});
      x[at] = std::nanf("");
      at::Tensor min, max;
      function(x, QScheme(), min, max);
      EXPECT_TRUE(std::isnan(min.item<float>()) && std::isnan(max.item<float>())) << at;
    }
}

TEST(MinMax, NaNStaysInItsChannel) {
  for (const bool last : {false, true})
    for (const auto function : {min_max, min_max_ref}) {
      at::Tensor x = at::randn({2, 40, 6, 6});
      x[1][7][5][5] = std::nanf("");
      if (last) x = x.contiguous(at::MemoryFormat::ChannelsLast);
      at::Tensor min, max;
      function(x, QScheme::parse("int8 channel:1"), min, max);
      EXPECT_EQ(at::isnan(min).sum().item<std::int64_t>(), 1);
      EXPECT_TRUE(std::isnan(min[7].item<float>()) && std::isnan(max[7].item<float>()));
    }
}

TEST(MinMax, InfinitiesAreValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  at::Tensor min, max;
  min_max(at::tensor({1.0F, kInf, -kInf}), QScheme(), min, max);
  EXPECT_EQ(min.item<float>(), -kInf);
  EXPECT_EQ(max.item<float>(), kInf);
}

// N terms, each exact, summed in float64 in any order: off by at most N 2^-53 sum |terms|.
void expect_sum(const at::Tensor& found, const at::Tensor& rows, const std::string& name) {
  const at::Tensor bound = rows.abs().sum(1) * (static_cast<double>(rows.size(1)) * std::ldexp(1.0, -53));
  EXPECT_TRUE(at::all((found.flatten() - rows.sum(1)).abs() <= 2 * bound).item<bool>()) << name;
}

TEST(Moments, AreSumsInEveryLayout) {
  for (const LayoutCase& one : layout_cases("int8 symmetric")) {
    const at::Tensor rows = rows_by_aten(one.x, one.scheme).to(at::kDouble);
    for (const auto function : {moments, moments_ref}) {
      at::Tensor sum, squares, absolute;
      function(one.x, one.scheme, sum, squares, absolute);
      EXPECT_EQ(squares.sizes().vec(), one.scheme.scale_shape(one.x.sizes().vec())) << one.name;
      expect_sum(sum, rows, one.name);
      expect_sum(squares, rows * rows, one.name);
      expect_sum(absolute, rows.abs(), one.name);
    }
  }
}

// The definition, by ATen: floor((x - low) * bins / (high - low)) in float32.
at::Tensor counted(const at::Tensor& row, float low, float high, int bins) {
  const at::Tensor inside = row.masked_select((row >= low).logical_and(row <= high));
  const at::Tensor places = ((inside - low) * (static_cast<float>(bins) / (high - low))).floor().clamp(0, bins - 1);
  return at::bincount(places.to(at::kLong), {}, bins).to(at::kDouble);
}

TEST(Histogram, CountsInEveryLayout) {
  for (const LayoutCase& one : layout_cases("int8 symmetric"))
    for (const bool absolute : {false, true})
      for (const int bins : {7, 2048}) {
        const at::Tensor x = absolute ? one.x.abs() : one.x;
        const at::Tensor rows = rows_by_aten(x, one.scheme);
        const at::Tensor low = at::amin(rows, 1) * (absolute ? 0.0 : 0.75), high = at::amax(rows, 1);
        if (at::any(low >= high).item<bool>()) continue;  // one element
        const HistogramArgs args{one.scheme, low, high, bins, absolute};
        for (const auto function : {histogram, histogram_ref}) {
          const at::Tensor counts = function(one.x, args);
          for (std::int64_t c = 0; c < rows.size(0); ++c)
            expect_same(counts[c], counted(rows[c], low[c].item<float>(), high[c].item<float>(), bins), one.name);
        }
      }
}

TEST(Histogram, RangesAtTheEndsOfFloatLoseNothing) {
  const at::Tensor x = at::tensor({-3e38F, -1e38F, 0.0F, 1e38F, 3e38F});
  const at::Tensor ends = at::tensor({-3e38F, 3e38F});
  const at::Tensor wide = histogram(x, {QScheme(), ends[0], ends[1], 6, false});
  expect_same(wide, at::tensor({1.0, 0.0, 1.0, 1.0, 1.0, 1.0}), "wide");
  const at::Tensor point = at::full({1}, 2.5F);
  const at::Tensor one = histogram(at::full({9}, 2.5F), {QScheme(), point, point, 4, false});
  expect_same(one, at::tensor({9.0, 0.0, 0.0, 0.0}), "one point");
  const at::Tensor tiny = at::tensor({0.0F, 1e-40F});
  EXPECT_EQ(histogram(tiny, {QScheme(), tiny[0], tiny[1], 4, false}).sum().item<double>(), 2.0);
}

// More equal values than a counter of 16 bits holds, in one piece and in pieces of odd length.
TEST(Histogram, ManyEqualValuesOverflowNoCounter) {
  const at::Tensor low = at::zeros({2}), high = at::ones({2});
  for (const auto function : {histogram, histogram_ref}) {
    const at::Tensor tensor = function(at::zeros({300001}), {QScheme(), low[0], high[0], 4, false});
    expect_same(tensor, at::tensor({300001.0, 0.0, 0.0, 0.0}), "tensor");
    const QScheme channel = QScheme::parse("int8 symmetric channel:1");
    const at::Tensor rows = function(at::zeros({15, 2, 20001}), {channel, low, high, 2, false});
    expect_same(rows, at::tensor({300015.0, 0.0, 300015.0, 0.0}).view({2, 2}), "channels");
  }
}

TEST(Histogram, LeavesOutWhatLiesOutsideAndNaN) {
  const at::Tensor x = at::tensor({-1.0F, 0.0F, 0.5F, 1.0F, 1.5F, std::nanf("")});
  const at::Tensor ends = at::tensor({0.0F, 1.0F});
  for (const auto function : {histogram, histogram_ref})
    expect_same(function(x, {QScheme(), ends[0], ends[1], 2, false}), at::tensor({1.0, 2.0}), "outside");
}

}  // namespace
}  // namespace quench
