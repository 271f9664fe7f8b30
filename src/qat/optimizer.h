// Optimizer: one step over all parameters with LibTorch's fused kernels. Two groups of rates (the network's, the
// quantizers'); weights alone decay. Its state is named tensors, for checkpoints.
#pragma once

#include <string>
#include <vector>

#include "qat/training_graph.h"
#include "quench/train.h"

namespace quench {

class Optimizer {
 public:
  // Throws for an unknown name, with the known ones.
  Optimizer(const std::vector<TrainedParameter>& parameters, OptimizerOptions options);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void zero_grad();
  // Scales down the gradients of the network (not those of quantizers) if their norm is above `norm`.
  void clip(double norm);
  void step(double factor);  // of the rates; parameters without a gradient stay

  TensorMap state() const;
  void load(const TensorMap& state);

 private:
  struct Group;
  OptimizerOptions options_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace quench
