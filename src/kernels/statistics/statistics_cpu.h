// The CPU's forms of kernels/statistics/statistics.h: vectorised, threaded.
#pragma once

#include "kernels/statistics/statistics.h"

namespace quench {

void min_max_on_cpu(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max);
void moments_on_cpu(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares,
                    at::Tensor& absolute);
void add_histogram_on_cpu(const at::Tensor& x, const HistogramArgs& args, at::Tensor& counts);

}  // namespace quench
