#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "kernels/entries.h"
#include "kernels/simd/simd.h"
#include "kernels/statistics/statistics_cpu.h"
#include "kernels/statistics/walk.h"

namespace quench {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Pairs {
  explicit Pairs(std::int64_t count) : min(static_cast<std::size_t>(count), kInf), max(min.size(), -kInf) {}
  std::vector<float> min, max;

  void take_in(std::int64_t entry, float low, float high) {
    const auto at = static_cast<std::size_t>(entry);
    if (std::isnan(min[at])) return;
    min[at] = low >= min[at] ? min[at] : low;  // a NaN is taken over
    max[at] = high <= max[at] ? max[at] : high;
  }
};

Pairs of_runs(const float* x, const Layout& layout) {
  const RunWalk walk(layout);
  Pairs parts(walk.units());
  walk.each([&](std::int64_t start, std::int64_t runs, std::int64_t length, std::int64_t unit) {
    simd().statistics.min_max_runs(x + start, runs, length, parts.min.data() + unit, parts.max.data() + unit);
  });
  if (walk.units() == layout.channels) return parts;
  Pairs result(layout.channels);
  for (std::int64_t unit = 0; unit < walk.units(); ++unit)
    result.take_in(walk.entry(unit), parts.min[static_cast<std::size_t>(unit)],
                   parts.max[static_cast<std::size_t>(unit)]);
  return result;
}

Pairs of_rows(const float* x, const Layout& layout) {
  const RowWalk walk(layout);
  Pairs parts(walk.units() * walk.width);
  walk.each([&](std::int64_t start, std::int64_t rows, std::int64_t width, std::int64_t unit) {
    const std::int64_t at = unit * walk.width;
    simd().statistics.min_max_rows(x + start, rows, width, parts.min.data() + at, parts.max.data() + at);
  });
  Pairs result(layout.channels);
  for (std::size_t i = 0; i < parts.min.size(); ++i)
    result.take_in(walk.entry(static_cast<std::int64_t>(i) % walk.width), parts.min[i], parts.max[i]);
  return result;
}

}  // namespace

void min_max_on_cpu(const at::Tensor& x, const QScheme& scheme, at::Tensor& min, at::Tensor& max) {
  const at::Tensor laid = laid_out(x, scheme);
  const Layout layout = entry_layout(laid, scheme);
  const auto* data = laid.const_data_ptr<float>();
  const Pairs found = RowWalk::fits(layout) ? of_rows(data, layout) : of_runs(data, layout);
  const std::vector<std::int64_t> shape = scheme.scale_shape(x.sizes().vec());
  min = to_scale_order(at::tensor(found.min), x, scheme).reshape(shape).to(x.device());
  max = to_scale_order(at::tensor(found.max), x, scheme).reshape(shape).to(x.device());
}

}  // namespace quench
