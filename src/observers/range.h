// Ranges over many batches: the running one, and the moving average.
#pragma once

#include "observers/state.h"
#include "quench/observer.h"

namespace quench {

// Of a file: throws unless all are finite and in order.
void check_ranges(const std::vector<float>& low, const std::vector<float>& high);

// m <- min(m, min x), M <- max(M, max x): docs/numerics.md 6.1.
class RunningRange {
 public:
  void add(const TensorRange& range);
  void merge(const RunningRange& other) { add(other.range_); }
  void clear() { range_ = {}; }
  const TensorRange& range() const { return range_; }
  void save(State& state) const;
  void restore(const State& state, std::size_t entries);

 private:
  TensorRange range_;
};

// The first batch copies; then the old value weighs r and the new one 1 - r: docs/numerics.md 6.2.
class MovingRange {
 public:
  // Reads the options below, which name the weight of the old value (MQBench) or that of the new one (torch).
  explicit MovingRange(const Options& options);
  static std::vector<OptionInfo> options();

  void add(const TensorRange& range);
  // The mean of both, weighted by the batches that each saw (docs/numerics.md 6.0).
  void merge(const MovingRange& other, std::int64_t own_batches, std::int64_t other_batches);
  void clear() { range_ = {}; }
  const TensorRange& range() const { return range_; }
  double old_weight() const { return by_new_ ? 1.0 - weight_ : weight_; }
  void save(State& state) const;
  void restore(const State& state, std::size_t entries);

 private:
  bool by_new_ = false;  // which of the two was given: they round differently, as the references do
  float weight_ = 0.9F;
  TensorRange range_;
};

}  // namespace quench
