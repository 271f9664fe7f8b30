#include <ATen/ATen.h>

#include "kernels/entries.h"
#include "kernels/simd/simd.h"
#include "kernels/statistics/statistics_cpu.h"
#include "kernels/statistics/walk.h"

namespace quench {
namespace {

using MomentSums = std::vector<double>;  // {3, entries}

MomentSums of_runs(const float* x, const Layout& layout) {
  const RunWalk walk(layout);
  MomentSums parts(static_cast<std::size_t>(3 * walk.units())), result(static_cast<std::size_t>(3 * layout.channels));
  walk.each([&](std::int64_t start, std::int64_t runs, std::int64_t length, std::int64_t unit) {
    simd().statistics.moment_runs(x + start, runs, length, parts.data() + 3 * unit);
  });
  for (std::int64_t unit = 0; unit < walk.units(); ++unit)
    for (std::int64_t k = 0; k < 3; ++k)
      result[static_cast<std::size_t>(k * layout.channels + walk.entry(unit))] +=
          parts[static_cast<std::size_t>(3 * unit + k)];
  return result;
}

MomentSums of_rows(const float* x, const Layout& layout) {
  const RowWalk walk(layout);
  MomentSums parts(static_cast<std::size_t>(3 * walk.units() * walk.width));
  MomentSums result(static_cast<std::size_t>(3 * layout.channels));
  // The tail's row is narrower, and so are its three.
  std::vector<std::int64_t> widths(static_cast<std::size_t>(walk.units()));
  walk.each([&](std::int64_t start, std::int64_t rows, std::int64_t width, std::int64_t unit) {
    widths[static_cast<std::size_t>(unit)] = width;
    simd().statistics.moment_rows(x + start, rows, width, parts.data() + 3 * unit * walk.width);
  });
  for (std::int64_t unit = 0; unit < walk.units(); ++unit) {
    const std::int64_t width = widths[static_cast<std::size_t>(unit)];
    const double* part = parts.data() + 3 * unit * walk.width;
    for (std::int64_t i = 0; i < 3 * width; ++i)
      result[static_cast<std::size_t>(i / width * layout.channels + walk.entry(i % width))] += part[i];
  }
  return result;
}

}  // namespace

void moments_on_cpu(const at::Tensor& x, const QScheme& scheme, at::Tensor& sum, at::Tensor& squares,
                    at::Tensor& absolute) {
  const at::Tensor laid = laid_out(x, scheme);
  const Layout layout = entry_layout(laid, scheme);
  const auto* data = laid.const_data_ptr<float>();
  const MomentSums sums = RowWalk::fits(layout) ? of_rows(data, layout) : of_runs(data, layout);
  const at::Tensor rows = at::tensor(sums).reshape({3, layout.channels});
  const std::vector<std::int64_t> shape = scheme.scale_shape(x.sizes().vec());
  const auto finish = [&](int k) { return to_scale_order(rows[k], x, scheme).reshape(shape).to(x.device()); };
  sum = finish(0);
  squares = finish(1);
  absolute = finish(2);
}

}  // namespace quench
