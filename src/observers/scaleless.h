// Observers that find no scale. They can be made and shown data; a plan that names one for a quantizer is refused with
// what to do instead.
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
