#include "kernels/statistics.h"

#include <ATen/ATen.h>

#include "kernels/statistics_cuda.h"

namespace quench {

void min_max(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda()) return min_max_on_cuda(x, scheme, min, max);
#endif
  min_max_ref(x, scheme, min, max);
}

void moments(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares, at::Tensor& absolute) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda()) return moments_on_cuda(x, scheme, sum, squares, absolute);
#endif
  moments_ref(x, scheme, sum, squares, absolute);
}

at::Tensor histogram(const at::Tensor& x, const HistogramArgs& args) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda()) return histogram_on_cuda(x, args);
#endif
  return histogram_ref(x, args);
}

RangeSearch search_range(const at::Tensor& x, const SearchArgs& args) { return search_range_ref(x, args); }

RangeSearch search_histogram(const HistogramView& histogram, const SearchArgs& args) {
  return search_histogram_ref(histogram, args);
}

std::vector<double> step_errors(const at::Tensor& x, const StepErrorArgs& args) { return step_errors_ref(x, args); }

}  // namespace quench
