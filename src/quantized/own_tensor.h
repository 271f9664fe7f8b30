// The tensors that a quantizer's algorithm has beyond scale and zero point, by name.
#pragma once

#include <string>

#include "quench/quantizers.h"

namespace quench {

// Not copied. Throws if the algorithm declares none of that name.
at::Tensor own_tensor(const Node& quantizer, const std::string& name);

}  // namespace quench
