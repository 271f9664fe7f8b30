// The state of a module while it is traced: evaluation mode inside, everything as it was afterwards.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace torch::nn {
class Module;
}

namespace quench {

struct StateTensor {
  std::string name;  // "layer1.0.conv1.weight"
  TensorAttr tensor;
  bool is_parameter = false;
};

// Parameters and buffers, each tensor once (tied weights under their first name).
std::vector<StateTensor> state_of(const torch::nn::Module& module);
// The numbers of the leaves inside -> their names.
std::map<std::int64_t, std::string> leaves_of(const torch::nn::Module& module);

class ModuleState {
 public:
  explicit ModuleState(torch::nn::Module& module);  // sets evaluation mode
  ~ModuleState();                                   // restores flags, tensors and random generators
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;

  const std::vector<StateTensor>& tensors() const;
  void check_unchanged() const;  // throws, naming the first tensor that a forward pass has written to

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace quench
