// What observers keep over the batches, and the observer that is made of such statistics: it says once what it keeps,
// and merging, saving and restoring follow.
#pragma once

#include "observers/state.h"
#include "quench/observer.h"

namespace quench {

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

}  // namespace quench
