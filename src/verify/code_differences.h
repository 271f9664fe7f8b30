// How many codes of two runs differ.
#pragma once

#include <string>

#include "quench/verify.h"

namespace at {
class Tensor;
}

namespace quench {

// Throws if the shapes differ, naming the tensor.
CodeDifferences code_differences(const std::string& name, const at::Tensor& a, const at::Tensor& b);

}  // namespace quench
