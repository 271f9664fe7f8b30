#include "qat/weight_average.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "quench/error.h"

namespace quench {

WeightAverage::WeightAverage(const std::vector<TrainedParameter>& parameters, double decay) : decay_(decay) {
  if (decay_ == 0) return;
  for (const TrainedParameter& one : parameters) {
    names_.push_back(one.value->name());
    parameters_.push_back(one.value->tensor().detach());
    averages_.push_back(parameters_.back().clone());
  }
}

void WeightAverage::update() {
  if (averages_.empty()) return;
  const c10::NoGradGuard no_grad;
  at::_foreach_lerp_(averages_, parameters_, begun_ ? 1 - decay_ : 1.0);
  begun_ = true;
}

void WeightAverage::swap() {
  if (!begun_) return;
  const c10::NoGradGuard no_grad;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const at::Tensor kept = averages_[i].clone();
    averages_[i].copy_(parameters_[i]);
    parameters_[i].copy_(kept);
  }
}

TensorMap WeightAverage::state() const {
  TensorMap state;
  if (!begun_) return state;
  for (std::size_t i = 0; i < names_.size(); ++i) state.emplace(names_[i], averages_[i]);
  return state;
}

void WeightAverage::load(const TensorMap& state) {
  begun_ = !state.empty();
  if (!begun_) return;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto found = state.find(names_[i]);
    QUENCH_CHECK(found != state.end() && found->second.sizes() == averages_[i].sizes(), "the average of '", names_[i],
                 "' is missing, or has another shape");
    averages_[i].copy_(found->second);
  }
}

}  // namespace quench
