// uint8 codes by a tensor's own range, widened to hold zero: DynamicQuantizeLinear, and what ONNX Runtime's dynamic
// kernels do inside.
#pragma once

#include <array>

namespace at {
class Tensor;
}

namespace quench {

// Codes (as floats), scale, zero point (as a float).
std::array<at::Tensor, 3> dynamic_codes(const at::Tensor& x);

}  // namespace quench
