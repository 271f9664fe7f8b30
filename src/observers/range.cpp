#include "quench/statistic.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "quench/error.h"

namespace quench {

namespace {

constexpr double kNotGiven = -1.0;

void save_range(const TensorRange& range, State& state) {
  state["min"] = state_of(range.min);
  state["max"] = state_of(range.max);
}

TensorRange restored_range(const State& state, std::size_t entries) {
  TensorRange range{floats_of(state, "min", entries), floats_of(state, "max", entries)};
  check_ranges(range.min, range.max);
  return range;
}

template <typename Combine>
void combine(std::vector<float>& values, const std::vector<float>& others, Combine combine_two) {
  QUENCH_CHECK(values.size() == others.size(), "ranges of ", others.size(), " scales after ", values.size());
  std::transform(values.begin(), values.end(), others.begin(), values.begin(), combine_two);
}

}  // namespace

void check_ranges(const std::vector<float>& low, const std::vector<float>& high) {
  for (std::size_t i = 0; i < low.size(); ++i)
    QUENCH_CHECK(std::isfinite(low[i]) && std::isfinite(high[i]) && low[i] <= high[i], "a range is ", low[i], " to ",
                 high[i], ": its ends must be finite and in order");
}

void RunningRange::add(const TensorRange& range) {
  if (range_.min.empty()) {
    range_ = range;
    return;
  }
  combine(range_.min, range.min, [](float a, float b) { return std::min(a, b); });
  combine(range_.max, range.max, [](float a, float b) { return std::max(a, b); });
}

void RunningRange::save(State& state) const { save_range(range_, state); }
void RunningRange::restore(const State& state, std::size_t entries) { range_ = restored_range(state, entries); }

MovingRange::MovingRange(const Options& options) {
  const double of_old = options.number("ema_ratio"), of_new = options.number("averaging_constant");
  QUENCH_CHECK(
      of_old == kNotGiven || of_new == kNotGiven,
      "give 'ema_ratio' (the weight of the old value) or 'averaging_constant' (that of the new one), not both");
  for (const double weight : {of_old, of_new})
    QUENCH_CHECK(weight == kNotGiven || (weight >= 0 && weight <= 1), "the weight of a moving average is ", weight,
                 ": it must lie between 0 and 1");
  by_new_ = of_new != kNotGiven;
  if (by_new_) weight_ = static_cast<float>(of_new);
  if (of_old != kNotGiven) weight_ = static_cast<float>(of_old);
}

std::vector<OptionInfo> MovingRange::options() {
  return {{"ema_ratio", kNotGiven, "weight of the old value (0.9)"},
          {"averaging_constant", kNotGiven, "weight of the new value, instead of ema_ratio"}};
}

void MovingRange::add(const TensorRange& range) {
  if (range_.min.empty()) {
    range_ = range;
    return;
  }
  const auto move = [this](float old, float now) {
    if (by_new_) return old + weight_ * (now - old);
    return old * weight_ + now * (1.0F - weight_);
  };
  combine(range_.min, range.min, move);
  combine(range_.max, range.max, move);
}

void MovingRange::add_all(const Statistic& other, const BatchCounts& batches) {
  const TensorRange& theirs = static_cast<const MovingRange&>(other).range_;
  if (range_.min.empty()) {
    range_ = theirs;
    return;
  }
  const double own = static_cast<double>(batches.own) / static_cast<double>(batches.own + batches.other);
  const auto mean = [own](float a, float b) { return static_cast<float>(own * a + (1 - own) * b); };
  combine(range_.min, theirs.min, mean);
  combine(range_.max, theirs.max, mean);
}

void MovingRange::save(State& state) const { save_range(range_, state); }
void MovingRange::restore(const State& state, std::size_t entries) { range_ = restored_range(state, entries); }

}  // namespace quench
