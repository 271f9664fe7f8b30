#include "observers/histogram_counts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quench/error.h"

namespace quench {
namespace {

constexpr double kMostCounts = 134217728;  // 2^27: 1 GiB

}  // namespace

HistogramCounts::HistogramCounts(const Options& options, bool absolute, int times) : absolute_(absolute) {
  const double bins = options.number("bins");
  QUENCH_CHECK(bins >= 2 && bins <= 65536 && bins == std::floor(bins),
               "bins must be a whole number from 2 to 65536, not ", bins);
  bins_ = static_cast<int>(bins) * times;
}

void HistogramCounts::clear() {
  range_.clear();
  counts_.clear();
}

void HistogramCounts::allocate(std::size_t rows) {
  QUENCH_CHECK(static_cast<double>(rows) * bins_ <= kMostCounts, rows, " histograms of ", bins_,
               " bins are too many: use fewer bins, or an observer without a histogram");
  counts_.assign(rows * static_cast<std::size_t>(bins_), 0.0);
}

TensorRange HistogramCounts::of_magnitudes(const TensorRange& range) const {
  if (!absolute_) return range;
  TensorRange magnitudes = range;
  for (std::size_t c = 0; c < range.min.size(); ++c) {
    magnitudes.max[c] = std::max(-range.min[c], range.max[c]);
    magnitudes.min[c] = 0.0F;
  }
  return magnitudes;
}

double HistogramCounts::total(std::size_t entry) const { return std::accumulate(row(entry), row(entry) + bins(), 0.0); }

int HistogramCounts::used_bins(std::size_t entry) const {
  int used = bins();
  while (used > 1 && row(entry)[used - 1] == 0) --used;
  return used;
}

at::Tensor HistogramCounts::counts() const {
  return at::from_blob(const_cast<double*>(counts_.data()), {static_cast<std::int64_t>(rows()), bins()}, at::kDouble);
}

std::vector<double> HistogramCounts::lows() const {
  std::vector<double> all;
  for (std::size_t c = 0; c < rows(); ++c) all.push_back(low(c));
  return all;
}

std::vector<double> HistogramCounts::highs() const {
  std::vector<double> all;
  for (std::size_t c = 0; c < rows(); ++c) all.push_back(low(c) + width(c) * bins());
  return all;
}

void HistogramCounts::scale_counts(double factor) {
  for (double& count : counts_) count *= factor;
}

void HistogramCounts::save(State& state) const {
  range_.save(state);
  state["counts"] = state_of(counts_);
}

void HistogramCounts::restore(const State& state, std::size_t entries) {
  range_.restore(state, entries);
  allocate(entries);
  counts_ = doubles_of(state, "counts", entries * static_cast<std::size_t>(bins_));
  for (const double count : counts_)
    QUENCH_CHECK(std::isfinite(count) && count >= 0, "'counts' holds ", count,
                 ": a count must be finite and not negative");
}

}  // namespace quench
