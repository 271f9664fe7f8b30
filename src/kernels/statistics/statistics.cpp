#include "kernels/statistics/statistics.h"

#include <ATen/ATen.h>

#include "kernels/statistics/ahead.h"
#include "kernels/statistics/statistics_cpu.h"
#include "kernels/statistics/statistics_cuda.h"

namespace quench {

void min_max(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda() && min_max_ahead(x, scheme, min, max)) return;
  if (x.is_cuda()) return min_max_on_cuda(x, scheme, min, max);
#endif
  min_max_on_cpu(x, scheme, min, max);
}

void moments(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares, at::Tensor& absolute) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda()) return moments_on_cuda(x, scheme, sum, squares, absolute);
#endif
  moments_on_cpu(x, scheme, sum, squares, absolute);
}

at::Tensor histogram(const at::Tensor& x, const HistogramArgs& args) {
#ifdef QUENCH_WITH_CUDA
  if (at::Tensor counts; x.is_cuda() && histogram_ahead(x, args, counts)) return counts;
  if (x.is_cuda()) return histogram_on_cuda(x, args);
#endif
  at::Tensor counts = at::zeros({args.low.numel(), args.bins}, at::kDouble);
  add_histogram(x, args, counts);
  return counts.to(x.device());
}

void add_histogram(const at::Tensor& x, const HistogramArgs& args, at::Tensor& counts) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda()) return void(counts += histogram(x, args).cpu());
#endif
  add_histogram_on_cpu(x, args, counts);
}

}  // namespace quench
