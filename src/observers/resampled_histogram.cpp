#include "observers/resampled_histogram.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/statistics/bins.h"
#include "kernels/statistics/statistics.h"
#include "quench/error.h"

namespace quench {
namespace {

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

ResampledHistogram::ResampledHistogram(const Options& options, bool absolute) : HistogramCounts(options, absolute, 1) {
  if (options.has("upsample_rate")) {
    const double rate = options.number("upsample_rate");
    QUENCH_CHECK(rate >= 1 && rate <= 65536 && rate == std::floor(rate),
                 "upsample_rate must be a whole number from 1 to 65536, not ", rate);
    upsample_ = static_cast<int>(rate);
  }
  integer_bounds_ = options.has("torch113") && options.flag("torch113");
}

void ResampledHistogram::clear() {
  HistogramCounts::clear();
  low_.clear();
  high_.clear();
}

double ResampledHistogram::width(std::size_t entry) const {
  return (static_cast<double>(high_[entry]) - low_[entry]) / bins();
}

void ResampledHistogram::start(const TensorRange& range) {
  allocate(range.min.size());
  low_ = range.min;
  high_ = range.max;
}

void ResampledHistogram::add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight) {
  const TensorRange batch = of_magnitudes(range);
  range_.add(range);
  const bool restarts = integer_bounds_ && !low_.empty() && low_ == high_;
  if (low_.empty() || restarts) start(batch);
  for (std::size_t c = 0; c < rows(); ++c) grow(c, batch.min[c], batch.max[c]);
  const std::vector<double> found = doubles_of(count(x, scheme, batch));
  double* own = own_row(0);
  for (std::size_t i = 0; i < found.size(); ++i) own[i] += weight * found[i];
}

at::Tensor ResampledHistogram::count(const at::Tensor& x, const QScheme& scheme, const TensorRange& batch) const {
  std::vector<float> low = low_, high = high_;
  if (integer_bounds_)
    for (std::size_t c = 0; c < low.size(); ++c) {
      low[c] = std::trunc(low[c]);
      high[c] = std::trunc(high[c]);
      if (low[c] != high[c]) continue;
      low[c] = batch.min[c];  // at::histc takes equal bounds for none
      high[c] = batch.max[c];
    }
  const at::Tensor lower = at::tensor(low), upper = at::tensor(high);
  return histogram(x, {scheme, lower, upper, bins(), absolute()});
}

void ResampledHistogram::grow(std::size_t entry, float low, float high) {
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

// docs/numerics.md 7.1. The old counts are not written onto the fine grid; the length of an old bin in fine ones gives
// its share of each new bin.
void ResampledHistogram::resample(std::size_t entry, float low, float high) {
  const double old_low = low_[entry], old_high = high_[entry];
  const double fine = (old_high - old_low) / (static_cast<double>(bins()) * upsample_);
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
      const double from = (offset + static_cast<double>(i) * upsample_) / rate;
      spread(own_row(entry), bins(), from, from + upsample_ / rate, old[static_cast<std::size_t>(i)]);
    } else {
      const double centre = old_low + (old_high - old_low) * (i + 0.5) / bins();
      own_row(entry)[std::max(bin_of(static_cast<float>(centre), target), 0)] += old[static_cast<std::size_t>(i)];
    }
  }
}

void ResampledHistogram::merge(const HistogramCounts& counts) {
  const auto& other = static_cast<const ResampledHistogram&>(counts);
  if (low_.empty()) {
    *this = other;
    return;
  }
  range_.merge(other.range_);
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

void ResampledHistogram::save(State& state) const {
  HistogramCounts::save(state);
  state["low"] = state_of(low_);
  state["high"] = state_of(high_);
}

void ResampledHistogram::restore(const State& state, std::size_t entries) {
  HistogramCounts::restore(state, entries);
  low_ = floats_of(state, "low", entries);
  high_ = floats_of(state, "high", entries);
  check_ranges(low_, high_);
}

}  // namespace quench
