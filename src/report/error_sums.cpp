#include "report/error_sums.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quench/error.h"

namespace quench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Mean of f over the images, with the standard error of a mean.
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

void ErrorSums::add(const at::Tensor& x, const at::Tensor& y, std::int64_t images) {
  QUENCH_CHECK(x.sizes() == y.sizes(), "the float network gives the shape ", x.sizes(), ", the quantized one ",
               y.sizes());
  if (x.numel() == 0) return;
  const bool by_image = x.dim() > 0 && x.size(0) == images;
  const auto rows = [&](const at::Tensor& t) { return t.to(at::kFloat).reshape({by_image ? images : 1, -1}); };
  const at::Tensor a = rows(x), b = rows(y), d = a - b;
  // Elements are float32; the sums are not: they decide a difference of large numbers.
  const auto sums = [](const at::Tensor& t) { return t.sum(1, false, at::kDouble).cpu(); };
  const at::Tensor xx = sums(a * a), yy = sums(b * b), xy = sums(a * b), dd = sums(d * d);
  for (std::int64_t i = 0; i < a.size(0); ++i) {
    const auto at_row = [i](const at::Tensor& t) { return t.const_data_ptr<double>()[i]; };
    all_.push_back({at_row(xx), at_row(yy), at_row(xy), at_row(dd), static_cast<double>(a.size(1))});
  }
  max_ = std::max(max_, d.abs().max().item<double>());
}

TensorError ErrorSums::result() const {
  QUENCH_CHECK(!all_.empty(), "nothing was compared");
  TensorError error;
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
