// An exponential moving average of all parameters: what is validated and kept, while training goes on with the others.
#pragma once

#include "qat/training_graph.h"

namespace quench {

class WeightAverage {
 public:
  WeightAverage(const std::vector<TrainedParameter>& parameters, double decay);  // decay 0: does nothing
  void update();  // the first one takes the parameters as they are: scales may have been found only then
  void swap();    // parameters and averages trade places; nothing before the first update
  TensorMap state() const;
  void load(const TensorMap& state);

 private:
  double decay_;
  bool begun_ = false;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_, averages_;
};

}  // namespace quench
