// Intervals of any metric: items are drawn again, with replacement, and the value is computed anew (Efron 1979; the
// percentiles of the draws).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/philox.h"
#include "quench/error.h"
#include "quench/metric.h"

namespace quench {
namespace {

constexpr double kOutside = 0.025;  // on either side of a 95 % interval

// How often draw number `draw` takes each item.
class Draws {
 public:
  Draws(std::size_t items, std::uint64_t seed) : times_(items), seed_(seed) {}

  const std::vector<int>& make(int draw) {
    std::fill(times_.begin(), times_.end(), 0);
    const std::uint64_t items = times_.size(), begin = static_cast<std::uint64_t>(draw) * items;
    for (std::uint64_t i = 0; i < items; ++i) {
      // The upper half of the bits as a fraction of the items: no division, and no item is favoured by more than 2^-32.
      const std::uint64_t bits = random_bits(seed_, begin + i) >> 32;
      ++times_[static_cast<std::size_t>(bits * items >> 32)];
    }
    return times_;
  }

 private:
  std::vector<int> times_;
  std::uint64_t seed_;
};

// Draws that leave nothing to measure (no box, no token) have no value and do not count.
Interval middle_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    if (values[below] == values[above]) return values[below];  // which may be infinite
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(kOutside), at(1 - kOutside)};
}

}  // namespace

Interval bootstrap_interval(const Metric::ValueOf& value, std::size_t items, int resamples, std::uint64_t seed) {
  QUENCH_CHECK(items > 0 && resamples > 0, "an interval needs items and draws, not ", items, " and ", resamples);
  Draws draws(items, seed);
  std::vector<double> values;
  for (int draw = 0; draw < resamples; ++draw) values.push_back(value(draws.make(draw)));
  return middle_of(std::move(values));
}

PairedDifference bootstrap_difference(const Metric::ValueOf& first, const Metric::ValueOf& second, std::size_t items,
                                      int resamples, std::uint64_t seed) {
  QUENCH_CHECK(items > 0 && resamples > 0, "an interval needs items and draws, not ", items, " and ", resamples);
  Draws draws(items, seed);
  const std::vector<int> once(items, 1);
  PairedDifference result;
  result.difference = first(once) - second(once);
  std::vector<double> differences;
  int below = 1, above = 1, counted = 1;  // the data itself counts as a draw: p is never 0
  for (int draw = 0; draw < resamples; ++draw) {
    const std::vector<int>& times = draws.make(draw);
    differences.push_back(first(times) - second(times));
    below += differences.back() <= 0 ? 1 : 0;
    above += differences.back() >= 0 ? 1 : 0;
    counted += std::isnan(differences.back()) ? 0 : 1;
  }
  result.interval = middle_of(std::move(differences));
  const bool known = counted > 1 && !std::isnan(result.difference);
  result.p_value =
      known ? std::min(1.0, 2.0 * std::min(below, above) / counted) : std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace quench
