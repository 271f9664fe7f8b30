// The statistics of tensors that lie on CUDA. Only in builds with CUDA (QUENCH_WITH_CUDA).
#pragma once

#include "kernels/statistics/statistics.h"

namespace quench {

void min_max_on_cuda(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max);
void moments_on_cuda(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares,
                     at::Tensor& absolute);
at::Tensor histogram_on_cuda(const at::Tensor& x, const HistogramArgs& args);
// Every candidate in full, a pass over the data each. Integer formats.
RangeSearch search_range_on_cuda(const at::Tensor& x, const SearchArgs& args);
std::vector<double> step_errors_on_cuda(const at::Tensor& x, const StepErrorArgs& args);

}  // namespace quench
