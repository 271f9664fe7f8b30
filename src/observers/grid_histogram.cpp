#include "observers/grid_histogram.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "kernels/statistics/statistics.h"

namespace quench {
namespace {

constexpr int kLeastExponent = -126;  // of a width: the least normal float32
constexpr int kMostMultiple = 22;     // edges are at most 2^23 widths from 0, so that a float32 holds each of them
constexpr int kMostShift = 62;

std::int64_t multiple_below(float x, int exponent) {
  return static_cast<std::int64_t>(std::floor(std::ldexp(static_cast<double>(x), -exponent)));
}

}  // namespace

// The least width whose bins hold the range. For a wider range it is never less.
GridHistogram::Window GridHistogram::window_for(float min, float max) const {
  const float reach = std::max(std::abs(min), std::abs(max));
  const double span = static_cast<double>(max) - min;
  int exponent = kLeastExponent;
  if (reach > 0) exponent = std::max(exponent, std::ilogb(reach) - kMostMultiple);
  if (span > 0) exponent = std::max(exponent, std::ilogb(span / bins()));
  while (multiple_below(max, exponent) - multiple_below(min, exponent) >= bins()) ++exponent;
  return {exponent, multiple_below(min, exponent)};
}

std::vector<GridHistogram::Window> GridHistogram::windows() const {
  const TensorRange range = of_magnitudes(range_.range());
  std::vector<Window> all;
  for (std::size_t c = 0; c < range.min.size(); ++c) all.push_back(window_for(range.min[c], range.max[c]));
  return all;
}

void GridHistogram::widen(const TensorRange& range) {
  range_.add(range);
  const std::vector<Window> wanted = windows();
  if (windows_.empty()) allocate(wanted.size());
  for (std::size_t c = 0; c < windows_.size(); ++c) {
    if (windows_[c] == wanted[c]) continue;
    const std::vector<double> old(row(c), row(c) + bins());
    std::fill_n(own_row(c), bins(), 0.0);
    pour(old.data(), windows_[c], wanted[c], own_row(c));
  }
  windows_ = wanted;
}

void GridHistogram::pour(const double* counts, const Window& from, const Window& to, double* row) const {
  const int shift = std::min(to.exponent - from.exponent, kMostShift);
  for (int i = 0; i < bins(); ++i)
    if (counts[i] != 0) row[((from.first + i) >> shift) - to.first] += counts[i];
}

namespace {

float edge(std::int64_t multiple, int exponent) {
  return static_cast<float>(std::ldexp(static_cast<double>(multiple), exponent));
}

}  // namespace

bool GridHistogram::add_in_one_pass(const at::Tensor& x, const QScheme& scheme) {
  if (windows_.size() != 1 || !x.is_cpu()) return false;
  const Window& window = windows_[0];
  const at::Tensor low = at::scalar_tensor(edge(window.first, window.exponent));
  const at::Tensor width = at::scalar_tensor(edge(1, window.exponent));
  at::Tensor own = counts();
  SeenRange seen{range().min[0], range().max[0]};
  if (!add_histogram_inside(x, {scheme, low, width, bins(), absolute(), true}, seen, own)) return false;
  widen({{seen.min}, {seen.max}});  // the range may have grown inside the bins
  return true;
}

void GridHistogram::add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight) {
  widen(range);
  std::vector<float> low, width;
  for (const Window& window : windows_) {
    low.push_back(edge(window.first, window.exponent));
    width.push_back(edge(1, window.exponent));
  }
  const at::Tensor lows = at::tensor(low), widths = at::tensor(width);
  const HistogramArgs args{scheme, lows, widths, bins(), absolute(), true, true};
  if (weight == 1.0) {
    at::Tensor own = counts();
    return add_histogram(x, args, own);
  }
  const at::Tensor found = histogram(x, args).cpu().contiguous();
  const double* counts = found.const_data_ptr<double>();
  double* own = own_row(0);
  for (std::int64_t i = 0; i < found.numel(); ++i) own[i] += weight * counts[i];
}

void GridHistogram::merge(const HistogramCounts& other) {
  const auto& grid = static_cast<const GridHistogram&>(other);
  widen(grid.range());
  for (std::size_t c = 0; c < windows_.size(); ++c) pour(grid.row(c), grid.windows_[c], windows_[c], own_row(c));
}

void GridHistogram::clear() {
  HistogramCounts::clear();
  windows_.clear();
}

bool GridHistogram::is_point(std::size_t entry) const {
  const float min = range().min[entry], max = range().max[entry];
  return absolute() ? min == 0 && max == 0 : min == max;
}

double GridHistogram::low(std::size_t entry) const {
  if (is_point(entry)) return range().min[entry];
  return std::ldexp(static_cast<double>(windows_[entry].first), windows_[entry].exponent);
}

double GridHistogram::width(std::size_t entry) const {
  return is_point(entry) ? 0.0 : std::ldexp(1.0, windows_[entry].exponent);
}

void GridHistogram::restore(const State& state, std::size_t entries) {
  HistogramCounts::restore(state, entries);
  windows_ = windows();
}

}  // namespace quench
