// The operators that torch's modules and functions become.
#pragma once

#include <string>
#include <vector>

namespace quench {

// "torch.nn.AvgPool2d" -> {"AveragePool"}, "operator.add" -> {"Add"}, "Linear" -> {"Gemm", "MatMul"}; an operator's own
// name is itself, and "my.ExampleMod" a registered operator of that name in any domain. Throws with the nearest, and
// with what a user's own layer takes. docs/platforms.md 2.2.
std::vector<std::string> operators_of(const std::string& torch_type);

// "(torch.nn.Linear, torch.nn.BatchNorm1d)" -> {{"Gemm", "BatchNormalization"}, {"MatMul", "BatchNormalization"}}.
std::vector<std::vector<std::string>> operator_chains_of(const std::string& torch_types, bool reversed);

}  // namespace quench
