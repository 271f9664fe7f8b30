// The statistics on CUDA against the plain loops of the CPU.
#include "kernels/statistics.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/layouts.h"

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

}  // namespace
}  // namespace quench
