// Observers that find no scale. They can be made and shown data, but no quantizer can have one: settings that name
// "noop" or "placeholder" leave a tensor float, "reuse_input" shares a scale, and a plan with an entry of theirs is
// refused with what to do instead.
#pragma once

#include "quench/statistic.h"

namespace quench {

class ScalelessObserver : public StatisticsObserver {
 public:
  using StatisticsObserver::StatisticsObserver;
  // Why a quantizer cannot be without a scale, and what to write instead.
  virtual std::string remedy() const = 0;

 protected:
  void add(const at::Tensor&, const TensorRange&) override {}
  QParams compute() const final;  // throws
};

}  // namespace quench
