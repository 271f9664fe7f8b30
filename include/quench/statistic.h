// What observers keep over the batches, and the observer that is made of such statistics: it says once what it keeps,
// and merging, saving and restoring follow. Ranges, running and averaged, are here; others are a Statistic more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quench/observer.h"

namespace at {
class Tensor;
}

namespace quench {

// Statistics as tensors and back: numbers keep their exact values, and a state that does not fit is refused.
using State = std::map<std::string, at::Tensor>;

at::Tensor state_of(const std::vector<float>& values);
at::Tensor state_of(const std::vector<double>& values);
at::Tensor state_of(const std::vector<std::int64_t>& values);

std::vector<float> floats_of(const at::Tensor& values);
std::vector<double> doubles_of(const at::Tensor& values);

// Entry `name`; throws if it is missing or does not have `count` values.
std::vector<double> doubles_of(const State& state, const std::string& name);
std::vector<float> floats_of(const State& state, const std::string& name, std::size_t count);
std::vector<double> doubles_of(const State& state, const std::string& name, std::size_t count);
std::vector<std::int64_t> integers_of(const State& state, const std::string& name);

// How many batches each of two halves saw.
struct BatchCounts {
  std::int64_t own = 0, other = 0;
};

class Statistic {
 public:
  virtual ~Statistic() = default;
  // Becomes that of both halves; `other` is of the same kind and has the same options. Averages weigh by batches.
  virtual void add_all(const Statistic& other, const BatchCounts& batches) = 0;
  virtual void clear() = 0;
  virtual void save(State& state) const = 0;
  virtual void restore(const State& state, std::size_t entries) = 0;  // of a file: throws where it does not fit

 protected:
  Statistic() = default;
  Statistic(const Statistic&) = default;
  Statistic& operator=(const Statistic&) = default;
};

class StatisticsObserver : public Observer {
 public:
  StatisticsObserver(const StatisticsObserver&) = delete;
  StatisticsObserver& operator=(const StatisticsObserver&) = delete;

 protected:
  using Observer::Observer;
  // Called by the constructor of the class whose members they are: the same ones for the same scheme and options. Their
  // names in a state must differ.
  void keep(Statistic& statistic) { kept_.push_back(&statistic); }

  void add_all(const Observer& other) final;
  void clear() final;
  State save() const final;
  void restore(const State& state) final;

 private:
  std::vector<Statistic*> kept_;
};

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
