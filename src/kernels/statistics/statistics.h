// What observers ask of a tensor: range, moments, histograms, the search for the best range. CPU (vectorised,
// threaded) and CUDA, any dense layout; float32 in. Each has a plain twin (*_ref). Sums are the same for a
// given thread count.
#pragma once

#include "quant/rounding.h"
#include "quench/quant.h"

namespace at {
class Tensor;
}

namespace quench {

// Least and greatest, float32 of scheme.scale_shape(x). A NaN makes both of its entry NaN.
void min_max(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max);
void min_max_ref(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max);

// Sums of x, x^2 and |x|, float64 of scheme.scale_shape(x).
void moments(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares, at::Tensor& absolute);
void moments_ref(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares,
                 at::Tensor& absolute);

// Counts (float64, {entries, bins}; entries = number of scales) over [low, high] of each entry: bin
// floor((x - low) * bins / (high - low)), the upper end in the last bin; what lies outside is not counted. With
// `absolute` of |x|. A range of one point puts all equal values into the first bin. With `grid` (bins_on_grid) `high`
// holds the width of a bin instead of the upper end.
struct HistogramArgs {
  const QScheme& scheme;
  const at::Tensor& low;  // float32, one per entry
  const at::Tensor& high;
  int bins = 2048;
  bool absolute = false;
  bool grid = false;
  bool all_inside = false;  // on a grid: the caller knows that every value is finite and lies in a bin; saves asking
};
at::Tensor histogram(const at::Tensor& x, const HistogramArgs& args);
// Adds them to such a tensor on the CPU.
void add_histogram(const at::Tensor& x, const HistogramArgs& args, at::Tensor& counts);
// With the range in the same pass, which saves reading x twice: for one entry on a grid, x on the CPU. `range` holds
// what was seen before, all of it in the bins, and is widened to hold x. False if a value is not finite or lies in no
// bin: nothing is changed then.
struct SeenRange {
  float min, max;
};
bool add_histogram_inside(const at::Tensor& x, const HistogramArgs& args, SeenRange& range, at::Tensor& counts);
at::Tensor histogram_ref(const at::Tensor& x, const HistogramArgs& args);

// The MSE search (docs/numerics.md 6.6): candidates k multiply both ends by 1 - 0.01 k; the least sum |q(x) - x|^p
// wins, the first one on equality. The result: the range of the winner, per entry, and its mean error (float64).
struct RangeSearch {
  std::vector<float> min, max;
  std::vector<double> error;
};
struct SearchArgs {
  const QScheme& scheme;
  std::vector<float> min, max;  // observed, per entry
  double power = 2.0;
  int candidates = 95;
};
// On the tensor itself: MQBench's result exactly, with candidates given up as soon as they cannot win. What lies on
// CUDA is searched there; fp8 and powers that float32 does not hold are copied to the CPU.
RangeSearch search_range(const at::Tensor& x, const SearchArgs& args);
RangeSearch search_range_ref(const at::Tensor& x, const SearchArgs& args);
// On a fine histogram (float64, {entries, bins}) over [low, high] of each entry. Counts are spread evenly over
// their bins and the error is integrated, so that steps finer than a bin are judged correctly (fp8: it is taken at
// the centres). For an affine scheme the ends are searched separately: from the best common factor on, one end
// after the other, until neither gets better.
struct HistogramView {
  HistogramView(const at::Tensor& the_counts, std::vector<double> from, std::vector<double> to)
      : counts(the_counts), low(std::move(from)), high(std::move(to)) {}
  HistogramView(const at::Tensor& the_counts, const std::vector<float>& from, const std::vector<float>& to)
      : HistogramView(the_counts, std::vector<double>(from.begin(), from.end()),
                      std::vector<double>(to.begin(), to.end())) {}
  const at::Tensor& counts;
  std::vector<double> low, high;
};
RangeSearch search_histogram(const HistogramView& histogram, const SearchArgs& args);
RangeSearch search_histogram_ref(const HistogramView& histogram, const SearchArgs& args);

// Sums of (q(x) - x)^2 for the steps 2^-first, 2^-(first + 1), ...: Vitis' search for an exponent
// (docs/numerics.md 6.9), per tensor, zero point 0. With `clamp_first` the clamp comes before the rounding.
struct StepErrorArgs {
  float qmin = -128, qmax = 127;
  Rounding rounding = Rounding::kHalfEven;
  bool clamp_first = false;
  int first = 0;
  int count = 1;
};
std::vector<double> step_errors(const at::Tensor& x, const StepErrorArgs& args);
std::vector<double> step_errors_ref(const at::Tensor& x, const StepErrorArgs& args);

}  // namespace quench
