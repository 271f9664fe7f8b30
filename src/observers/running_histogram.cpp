#include "observers/running_histogram.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/bins.h"
#include "kernels/statistics.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr double kMostCounts = 134217728;    // 2^27: 1 GiB
constexpr double kMostDownsample = 1 << 30;  // beyond, the old range is less than a fine bin of the new one

// What [from, to) (in units of target bins) holds of `mass`, spread evenly.
void spread(double* target, int bins, double from, double to, double mass) {
  const int first = std::clamp(static_cast<int>(from), 0, bins - 1);
  const int last = std::clamp(static_cast<int>(std::ceil(to)) - 1, first, bins - 1);
  for (int j = first; j < last; ++j) {
    const double part = mass * (j + 1 - from) / (to - from);
    target[j] += part;
    mass -= part;
    from = j + 1;
  }
  target[last] += mass;  // all that is left: nothing gets lost
}

}  // namespace

RunningHistogram::RunningHistogram(const Options& options, bool absolute) {
  const double bins = options.number("bins");
  QUENCH_CHECK(bins >= 2 && bins <= 65536 && bins == std::floor(bins),
               "bins must be a whole number from 2 to 65536, not ", bins);
  spec_.bins = static_cast<int>(bins);
  spec_.absolute = absolute;
  if (options.has("upsample_rate")) {
    const double rate = options.number("upsample_rate");
    QUENCH_CHECK(rate >= 1 && rate <= 65536 && rate == std::floor(rate),
                 "upsample_rate must be a whole number from 1 to 65536, not ", rate);
    spec_.upsample = static_cast<int>(rate);
  }
  spec_.integer_bounds = options.has("torch113") && options.flag("torch113");
}

void RunningHistogram::clear() {
  range_.clear();
  low_.clear();
  high_.clear();
  counts_.clear();
}

double RunningHistogram::total(std::size_t entry) const {
  return std::accumulate(row(entry), row(entry) + bins(), 0.0);
}

double RunningHistogram::width(std::size_t entry) const {
  return (static_cast<double>(high_[entry]) - low_[entry]) / bins();
}

at::Tensor RunningHistogram::counts() const {
  return at::from_blob(const_cast<double*>(counts_.data()), {static_cast<std::int64_t>(rows()), bins()}, at::kDouble);
}

void RunningHistogram::start(const std::vector<float>& low, const std::vector<float>& high) {
  QUENCH_CHECK(static_cast<double>(low.size()) * bins() <= kMostCounts, low.size(), " histograms of ", bins(),
               " bins are too much: take fewer bins, or an observer without histogram");
  low_ = low;
  high_ = high;
  counts_.assign(low.size() * static_cast<std::size_t>(bins()), 0.0);
}

void RunningHistogram::add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight) {
  TensorRange batch = range;
  if (spec_.absolute)
    for (std::size_t c = 0; c < batch.min.size(); ++c) {
      batch.max[c] = std::max(-batch.min[c], batch.max[c]);
      batch.min[c] = 0.0F;
    }
  range_.add(range);
  const bool restarts = spec_.integer_bounds && rows() > 0 && low_ == high_;
  if (rows() == 0 || restarts) start(batch.min, batch.max);
  for (std::size_t c = 0; c < rows(); ++c) grow(c, batch.min[c], batch.max[c]);
  const std::vector<double> found = doubles_of(count(x, scheme, batch));
  for (std::size_t i = 0; i < found.size(); ++i) counts_[i] += weight * found[i];
}

at::Tensor RunningHistogram::count(const at::Tensor& x, const QScheme& scheme, const TensorRange& batch) const {
  std::vector<float> low = low_, high = high_;
  if (spec_.integer_bounds)
    for (std::size_t c = 0; c < low.size(); ++c) {
      low[c] = std::trunc(low[c]);
      high[c] = std::trunc(high[c]);
      if (low[c] != high[c]) continue;
      low[c] = batch.min[c];  // at::histc takes equal bounds for none
      high[c] = batch.max[c];
    }
  const at::Tensor lower = at::tensor(low).to(x.device()), upper = at::tensor(high).to(x.device());
  return histogram(x, {scheme, lower, upper, bins(), spec_.absolute});
}

void RunningHistogram::grow(std::size_t entry, float low, float high) {
  low = std::min(low, low_[entry]);
  high = std::max(high, high_[entry]);
  if (low == low_[entry] && high == high_[entry]) return;
  if (total(entry) > 0) {
    resample(entry, low, high);
    return;
  }
  low_[entry] = low;
  high_[entry] = high;
}

// Numerics 7.1. The old counts are not written onto the fine grid; an old bin is so many fine bins long that
// its share of each new bin is known.
void RunningHistogram::resample(std::size_t entry, float low, float high) {
  const double old_low = low_[entry], old_high = high_[entry];
  const double fine = (old_high - old_low) / (static_cast<double>(bins()) * spec_.upsample);
  const double span = static_cast<double>(high) - low;
  const double rate = fine > 0 ? std::ceil(span / (bins() * fine)) : kMostDownsample + 1;
  const double relaxed = low + rate * bins() * fine;  // only the upper end: a one-sided minimum stays at 0
  const bool on_grid = rate <= kMostDownsample && relaxed <= std::numeric_limits<float>::max();
  const std::vector<double> old(row(entry), row(entry) + bins());
  std::fill_n(own_row(entry), bins(), 0.0);
  low_[entry] = low;
  high_[entry] = on_grid ? std::max(high, static_cast<float>(relaxed)) : high;
  const double offset = on_grid ? std::round((old_low - low) / fine) : 0.0;
  const Bins target = bins_over(low, high_[entry], bins());
  for (int i = 0; i < bins(); ++i) {
    if (old[static_cast<std::size_t>(i)] == 0) continue;
    if (on_grid) {
      const double from = (offset + static_cast<double>(i) * spec_.upsample) / rate;
      spread(own_row(entry), bins(), from, from + spec_.upsample / rate, old[static_cast<std::size_t>(i)]);
    } else {
      const double centre = old_low + (old_high - old_low) * (i + 0.5) / bins();
      own_row(entry)[std::max(bin_of(static_cast<float>(centre), target), 0)] += old[static_cast<std::size_t>(i)];
    }
  }
}

void RunningHistogram::merge(const RunningHistogram& other) {
  range_.merge(other.range_);
  if (rows() == 0) {
    low_ = other.low_;
    high_ = other.high_;
    counts_ = other.counts_;
    return;
  }
  for (std::size_t c = 0; c < rows(); ++c) {
    grow(c, other.low_[c], other.high_[c]);
    const bool same = low_[c] == other.low_[c] && high_[c] == other.high_[c];
    const double own = width(c), theirs = other.width(c);
    for (int i = 0; i < bins(); ++i) {
      const double mass = other.row(c)[i];
      if (same || own == 0) {
        own_row(c)[i] += mass;
      } else if (mass > 0) {
        const double from = (other.low_[c] + theirs * i - low_[c]) / own;
        spread(own_row(c), bins(), from, from + theirs / own, mass);
      }
    }
  }
}

void RunningHistogram::scale_counts(double factor) {
  for (double& count : counts_) count *= factor;
}

void RunningHistogram::save(State& state) const {
  range_.save(state);
  state["low"] = state_of(low_);
  state["high"] = state_of(high_);
  state["counts"] = state_of(counts_);
}

void RunningHistogram::restore(const State& state, std::size_t entries) {
  range_.restore(state, entries);
  low_ = floats_of(state, "low", entries);
  high_ = floats_of(state, "high", entries);
  check_ranges(low_, high_);
  counts_ = doubles_of(state, "counts", entries * static_cast<std::size_t>(bins()));
  for (const double count : counts_) QUENCH_CHECK(std::isfinite(count) && count >= 0, "a count is ", count);
}

}  // namespace quench
