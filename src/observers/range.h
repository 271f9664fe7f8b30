// Ranges over many batches: the running one, and the moving average.
#pragma once

#include "observers/statistic.h"

namespace quench {

// Of a file: throws unless all are finite and in order.
void check_ranges(const std::vector<float>& low, const std::vector<float>& high);

// m <- min(m, min x), M <- max(M, max x): docs/numerics.md 6.1.
class RunningRange : public Statistic {
 public:
  void add(const TensorRange& range);
  void merge(const RunningRange& other) { add(other.range_); }
  const TensorRange& range() const { return range_; }

  void add_all(const Statistic& other, const BatchCounts&) override { merge(static_cast<const RunningRange&>(other)); }
  void clear() override { range_ = {}; }
  void save(State& state) const override;
  void restore(const State& state, std::size_t entries) override;

 private:
  TensorRange range_;
};

// The first batch copies; then the old value weighs r and the new one 1 - r: docs/numerics.md 6.2.
class MovingRange : public Statistic {
 public:
  // Reads the options below, which name the weight of the old value (MQBench) or that of the new one (torch).
  explicit MovingRange(const Options& options);
  static std::vector<OptionInfo> options();

  void add(const TensorRange& range);
  const TensorRange& range() const { return range_; }
  double old_weight() const { return by_new_ ? 1.0 - weight_ : weight_; }

  // The mean of both, weighted by the batches that each saw (docs/numerics.md 6.0).
  void add_all(const Statistic& other, const BatchCounts& batches) override;
  void clear() override { range_ = {}; }
  void save(State& state) const override;
  void restore(const State& state, std::size_t entries) override;

 private:
  bool by_new_ = false;  // which of the two was given: they round differently, as the references do
  float weight_ = 0.9F;
  TensorRange range_;
};

}  // namespace quench
