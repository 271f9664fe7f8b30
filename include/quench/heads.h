// Named heads on one graph: what a model gives in each of mmrazor's modes. mmrazor traces a graph for every mode and
// copies scales from one to the other; here the graph runs once, with one set of quantizers, and a head is a function
// of its outputs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace quench {

// From the graph's outputs and the targets that the caller gave.
using Head = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& outputs,
                                                   const std::vector<at::Tensor>& targets)>;

class Heads {
 public:
  // "tensor": the outputs as they are. "predict": the scores of the classes (softmax of the first output over its
  // second axis). "loss": the mean cross-entropy of the first output with targets[0], the classes' numbers, one for
  // each item.
  Heads();
  // A head of your own, or another meaning of one of these.
  void set(const std::string& name, Head head);
  std::vector<std::string> names() const;
  // Throws for an unknown name, and says which there are.
  std::vector<at::Tensor> apply(const std::string& name, const std::vector<at::Tensor>& outputs,
                                const std::vector<at::Tensor>& targets = {}) const;

 private:
  std::map<std::string, Head> heads_;
};

}  // namespace quench
