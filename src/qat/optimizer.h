// Optimizer: one step over all parameters with LibTorch's fused kernels. Two rates (the network's, the
// quantizers'); weights alone decay, and a scale moves by at most a tenth of itself. Its state is named tensors, for
// checkpoints.
#pragma once

#include <string>
#include <vector>

#include "qat/training_graph.h"
#include "quench/train.h"

namespace quench {

void check_optimizer_name(const std::string& name);  // throws for one that is unknown

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
  void set_factor(double factor);  // of the rates; on a GPU it is kept there, so that a captured step reads it
  void step();                     // parameters without a gradient stay
  void step(double factor);

  TensorMap state() const;
  void load(const TensorMap& state);

 private:
  struct Group;
  struct Active;
  template <typename Rate>
  void step_group(const Group& group, const Rate& rate) const;
  template <typename Rate>
  void update(const Group& group, const Active& list, const Rate& rate) const;

  OptimizerOptions options_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace quench
