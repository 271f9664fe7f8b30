#include "quench/statistic.h"

#include <ATen/ATen.h>

namespace quench {

void StatisticsObserver::add_all(const Observer& other) {
  const auto& same = static_cast<const StatisticsObserver&>(other);
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i]->add_all(*same.kept_[i], {batches(), other.batches()});
}

void StatisticsObserver::clear() {
  for (Statistic* statistic : kept_) statistic->clear();
}

State StatisticsObserver::save() const {
  State state;
  for (const Statistic* statistic : kept_) statistic->save(state);
  return state;
}

void StatisticsObserver::restore(const State& state) {
  for (Statistic* statistic : kept_) statistic->restore(state, entries());
}

}  // namespace quench
