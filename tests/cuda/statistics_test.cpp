// The statistics on CUDA against the plain loops of the CPU.
#include "kernels/statistics/statistics.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/layouts.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using at::Tensor;

#define NEEDS_CUDA() \
  if (!at::hasCUDA()) GTEST_SKIP() << "this LibTorch sees no CUDA device: the statistics on CUDA are not tested here"

TEST(CudaStatistics, MinMaxEqualsThePlainLoop) {
  NEEDS_CUDA();
  for (const LayoutCase& c : layout_cases("int8 symmetric")) {
    Tensor min, max, plain_min, plain_max;
    min_max(c.x.cuda(), c.scheme, min, max);
    min_max_ref(c.x, c.scheme, plain_min, plain_max);
    EXPECT_TRUE(min.is_cuda());
    EXPECT_TRUE(at::equal(min.cpu(), plain_min) && at::equal(max.cpu(), plain_max)) << c.name;
  }
  Tensor min, max;
  min_max(at::tensor({1.0F, NAN, 3.0F}).cuda(), QScheme(), min, max);
  EXPECT_TRUE(std::isnan(min.item<float>()) && std::isnan(max.item<float>()));
}

TEST(CudaStatistics, MomentsEqualThePlainLoop) {
  NEEDS_CUDA();
  for (const LayoutCase& c : layout_cases("int8 symmetric")) {
    Tensor sum, squares, absolute, plain_sum, plain_squares, plain_absolute;
    moments(c.x.cuda(), c.scheme, sum, squares, absolute);
    moments_ref(c.x, c.scheme, plain_sum, plain_squares, plain_absolute);
    // Float64 sums of at most 1e5 terms in another order: 1e5 * 2^-53 of the sum of magnitudes.
    const double bound = 1e5 * std::ldexp(1.0, -53);
    EXPECT_TRUE((sum.cpu() - plain_sum).abs().le(bound * plain_absolute).all().item<bool>()) << c.name;
    EXPECT_TRUE((absolute.cpu() - plain_absolute).abs().le(bound * plain_absolute).all().item<bool>()) << c.name;
    EXPECT_TRUE((squares.cpu() - plain_squares).abs().le(bound * plain_squares).all().item<bool>()) << c.name;
  }
}

TEST(CudaStatistics, HistogramsEqualThePlainLoopExactly) {
  NEEDS_CUDA();
  for (const LayoutCase& c : layout_cases("int8 symmetric"))
    for (const int bins : {7, 2048, 20000})
      for (const bool absolute : {false, true}) {
        Tensor min, max;
        min_max_ref(c.x, c.scheme, min, max);
        const Tensor low = absolute ? at::zeros_like(min) : min * 0.9F, high = max * 0.9F;
        const HistogramArgs args{c.scheme, low, high, bins, absolute};
        const Tensor cuda_low = low.cuda(), cuda_high = high.cuda();
        const Tensor counts = histogram(c.x.cuda(), {c.scheme, cuda_low, cuda_high, bins, absolute});
        EXPECT_TRUE(at::equal(counts.cpu(), histogram_ref(c.x, args))) << c.name << " " << bins << " " << absolute;
      }
}

// More than 2^24 rows, and more elements than one pass of blocks takes.
TEST(CudaStatistics, ManyRowsAndLongRuns) {
  NEEDS_CUDA();
  const Tensor rows = at::randn({(1 << 24) + 5, 2}, at::kCUDA);
  const QScheme last = QScheme::parse("int8 symmetric channel:1");
  Tensor min, max, sum, squares, absolute;
  min_max(rows, last, min, max);
  EXPECT_TRUE(at::equal(min, at::amin(rows, {0})) && at::equal(max, at::amax(rows, {0})));
  const Tensor long_run = at::randn({(std::int64_t{1} << 26) + 3}, at::kCUDA);
  min_max(long_run, QScheme(), min, max);
  EXPECT_TRUE(at::equal(min, at::amin(long_run)) && at::equal(max, at::amax(long_run)));
  moments(long_run, QScheme(), sum, squares, absolute);
  // 2^26 float64 terms of one sign: 2^26 * 2^-53 at the very most.
  EXPECT_NEAR(absolute.item<double>() / long_run.to(at::kDouble).abs().sum().item<double>(), 1.0, std::ldexp(1.0, -27));
}

SearchArgs search_args(const LayoutCase& c, double power) {
  Tensor min, max;
  min_max_ref(c.x, c.scheme, min, max);
  const auto numbers = [](const Tensor& t) {
    return std::vector<float>(t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel());
  };
  return {c.scheme, numbers(min.contiguous()), numbers(max.contiguous()), power, 40};
}

TEST(CudaStatistics, SearchesFindWhatThePlainLoopFinds) {
  NEEDS_CUDA();
  at::manual_seed(3);
  for (const char* format : {"int8 symmetric", "uint4 affine"})
    for (const LayoutCase& c : layout_cases(format))
      for (const double power : {1.0, 2.0, 2.4}) {
        SCOPED_TRACE(c.name + ", " + format + ", p = " + std::to_string(power));
        const SearchArgs args = search_args(c, power);
        const RangeSearch found = search_range(c.x.cuda(), args), plain = search_range_ref(c.x, args);
        ASSERT_EQ(found.error.size(), plain.error.size());
        // Sums of float64; the power is good to 2^-22 (1 + |p log2 d|), with 1e-7 < d: at most 1.4e-5.
        const double bound = power == 2.4 ? 1.4e-5 : 1e-11;
        for (std::size_t e = 0; e < plain.error.size(); ++e)
          EXPECT_NEAR(found.error[e], plain.error[e], bound * plain.error[e]) << e;
        if (power == 2.4) continue;  // there the error decides; candidates may be as good
        EXPECT_EQ(found.min, plain.min);
        EXPECT_EQ(found.max, plain.max);
      }
}

TEST(CudaStatistics, Fp8IsSearchedToo) {
  NEEDS_CUDA();
  const LayoutCase c{"", at::randn({3000}), QScheme::parse("e4m3fn tensor")};
  EXPECT_EQ(search_range(c.x.cuda(), search_args(c, 2.0)).max, search_range(c.x, search_args(c, 2.0)).max);
}

TEST(CudaStatistics, AWrongNumberOfRangesIsRefused) {
  NEEDS_CUDA();
  EXPECT_ERROR(search_range(at::zeros({4}, at::kCUDA), {QScheme(), {0, 0}, {1, 1}}), "1 entries", "2 minima");
}

TEST(CudaStatistics, StepErrorsEqualThePlainLoop) {
  NEEDS_CUDA();
  at::manual_seed(4);
  const Tensor x = at::cat({at::randn({100001}) * 3, at::arange(-64, 64) * 0.0625F});  // and ties
  for (const Rounding rounding :
       {Rounding::kHalfEven, Rounding::kHalfUpNegative, Rounding::kHalfUp, Rounding::kHalfAway})
    for (const bool clamp_first : {false, true}) {
      const StepErrorArgs args{-8, 7, rounding, clamp_first, -2, 9};
      const std::vector<double> found = step_errors(x.cuda(), args), plain = step_errors_ref(x, args);
      ASSERT_EQ(found.size(), plain.size());
      // An error is rounded to float32 (2^-24) before it is squared.
      for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_NEAR(found[k], plain[k], 1.3e-7 * plain[k]) << k;
    }
}

}  // namespace
}  // namespace quench
