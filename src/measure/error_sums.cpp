#include "measure/error_sums.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/parallel.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Mean of f over the items, with the standard error of a mean.
template <typename Items, typename Function>
Estimate mean_of(const Items& items, Function f) {
  const auto n = static_cast<double>(items.size());
  double sum = 0.0, squares = 0.0;
  for (const auto& item : items) sum += f(item);
  const double mean = sum / n;
  for (const auto& item : items) squares += (f(item) - mean) * (f(item) - mean);
  return {mean, n > 1 ? std::sqrt(squares / (n - 1) / n) : kUnknown};
}

}  // namespace

void ErrorSums::add(const at::Tensor& x, const at::Tensor& y, std::int64_t items) {
  QUENCH_CHECK(x.sizes() == y.sizes(), "the float network gives the shape ", x.sizes(), ", the quantized one ",
               y.sizes());
  if (x.numel() == 0) return;
  const bool by_item = x.dim() > 0 && x.size(0) == items;
  // With one layout, so that elements match; the sums do not depend on the order.
  const auto format = x.suggest_memory_format();
  const auto rows = [&](const at::Tensor& t) { return t.to(at::kCPU, at::kFloat).contiguous(format); };
  const at::Tensor a = rows(x), b = rows(y);
  const std::int64_t count = by_item ? items : 1, length = a.numel() / count;
  const std::size_t first = all_.size();
  all_.resize(first + static_cast<std::size_t>(count));
  in_parallel(count, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i)
      all_[first + static_cast<std::size_t>(i)] =
          compared(a.const_data_ptr<float>() + i * length, b.const_data_ptr<float>() + i * length, length);
  });
  for (std::size_t i = first; i < all_.size(); ++i) max_ = std::max(max_, all_[i].max);
}

// In one pass. Elements are float32; the sums are not: they decide a difference of large numbers. Four of each, so that
// an addition need not wait for the one before.
ErrorSums::One ErrorSums::compared(const float* x, const float* y, std::int64_t length) {
  constexpr int kLanes = 4;
  double xx[kLanes] = {}, yy[kLanes] = {}, xy[kLanes] = {}, dd[kLanes] = {};
  float largest[kLanes] = {};
  for (std::int64_t at = 0; at < length; at += kLanes) {
    const auto here = static_cast<int>(std::min<std::int64_t>(kLanes, length - at));
    for (int k = 0; k < here; ++k) {
      const double a = x[at + k], b = y[at + k];
      const float d = x[at + k] - y[at + k];
      xx[k] += a * a;
      yy[k] += b * b;
      xy[k] += a * b;
      dd[k] += static_cast<double>(d) * d;
      largest[k] = std::max(largest[k], std::abs(d));
    }
  }
  const auto sum = [](const double* lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); };
  return {
      sum(xx), sum(yy), sum(xy), sum(dd), static_cast<double>(length), *std::max_element(largest, largest + kLanes)};
}

TensorError ErrorSums::result() const {
  TensorError error;
  error.sqnr.value = kInfinity;
  if (all_.empty()) return error;  // a tensor without elements has no errors
  double xx = 0.0, dd = 0.0;
  for (const One& one : all_) {
    xx += one.xx;
    dd += one.dd;
  }
  error.sqnr.value = dd == 0.0 ? kInfinity : xx == 0.0 ? -kInfinity : 10 * std::log10(xx / dd);
  // The ratio r = dd / xx of two sums has, by the delta method, the standard error of the mean of
  // (dd_i - r xx_i) / mean(xx); a step of 10 log10 r is 10 / ln 10 of a relative step of r.
  const double ratio = dd / xx, mean_xx = xx / static_cast<double>(all_.size());
  const Estimate residual = mean_of(all_, [&](const One& one) { return (one.dd - ratio * one.xx) / mean_xx; });
  error.sqnr.error = std::isfinite(error.sqnr.value) ? 10 / std::log(10.0) * residual.error / ratio : kUnknown;
  error.cosine = mean_of(all_, [](const One& one) {
    if (one.xx == 0.0 || one.yy == 0.0) return one.xx == one.yy ? 1.0 : 0.0;
    return one.xy / std::sqrt(one.xx * one.yy);
  });
  error.mse = mean_of(all_, [](const One& one) { return one.dd / one.elements; });
  error.max = max_;
  return error;
}

}  // namespace quench
