// The inputs that a module is traced on: the examples, the examples repeated along the dims that may
// change, and random ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

struct ModuleImportOptions;

class ModuleInputs {
 public:
  ModuleInputs(const std::vector<at::Tensor>& examples, const ModuleImportOptions& options);

  static constexpr int kTraces = 3;  // sizes, each with other factors for every symbol
  const std::vector<TypeInfo>& types() const { return types_; }

  // Fresh tensors: a module may write into its inputs.
  std::vector<at::Tensor> repeated(int trace) const;
  // Random inputs of that trace's sizes, within the range of the examples. Mirrored in that range with
  // `mirrored`: what depends on a sign or a threshold goes the other way in one of the two.
  std::vector<at::Tensor> random(int trace, bool mirrored) const;
  // Random inputs whose free dims are 1; none where those of the examples are.
  std::vector<at::Tensor> smallest() const;

 private:
  std::vector<std::int64_t> factors(std::size_t input, int trace) const;

  std::vector<TensorAttr> examples_;
  std::vector<TypeInfo> types_;
  std::vector<std::string> symbols_;
};

}  // namespace quench
