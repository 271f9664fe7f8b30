// A row times a factor, and its gradients. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"

namespace quench {
namespace {

void scale(const float* x, std::int64_t count, float factor, float* y) {
  QUENCH_NO_ALIAS
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * factor;
}

double scale_backward(ScaledRow row, const float* dy, const float* x, float* dx) {
  double total = 0.0;
  for (std::int64_t chunk = 0; chunk < row.count; chunk += kChunk) {
    const std::int64_t end = least(row.count, chunk + kChunk);
    float sums[kLanes] = {};
    std::int64_t i = chunk;
    for (; i + kLanes <= end; i += kLanes) {
      QUENCH_NO_ALIAS
      for (int k = 0; k < kLanes; ++k) {
        sums[k] += dy[i + k] * x[i + k];
        dx[i + k] = dy[i + k] * row.factor;
      }
    }
    for (int k = 0; i < end; ++i, ++k) {
      sums[k] += dy[i] * x[i];
      dx[i] = dy[i] * row.factor;
    }
    for (int k = 0; k < kLanes; ++k) total += static_cast<double>(sums[k]);
  }
  return total;
}

}  // namespace
}  // namespace quench
