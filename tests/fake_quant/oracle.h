// Comparing float32 gradients with a double-precision oracle.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace quench {

// Forward b, backward as a.
inline at::Tensor straight_through(const at::Tensor& a, const at::Tensor& b) { return a + (b - a).detach(); }

inline at::Tensor leaf(const at::Tensor& x) { return x.detach().to(at::kDouble).requires_grad_(); }

inline at::Tensor number(double value) { return at::full({}, value, at::kDouble); }

// Relative to the greatest entry. An elementwise gradient is a handful of float32 operations, each good to
// 2^-24; a sum of n terms adds at most n times that.
inline void expect_close(const at::Tensor& ours, const at::Tensor& oracle, std::int64_t terms, const char* what) {
  const double bound = std::ldexp(1.0, -24) * static_cast<double>(16 + terms);
  const double largest = std::max(oracle.abs().max().item<double>(), 1e-3);
  const double difference = (ours.to(at::kDouble) - oracle.reshape(ours.sizes())).abs().max().item<double>();
  EXPECT_LE(difference, bound * largest) << what;
}

// Elements whose quotient lies near a tie take one side in float and may take the other in double.
inline at::Tensor away_from_ties(const at::Tensor& x, double scale) {
  const at::Tensor quotient = x.to(at::kDouble) / scale;
  const at::Tensor distance = (quotient - at::floor(quotient) - 0.5).abs();
  return at::where(distance < 1e-3, x + static_cast<float>(scale) * 0.01F, x);
}

}  // namespace quench
