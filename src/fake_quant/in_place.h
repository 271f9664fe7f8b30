// Writing into a quantizer's tensors during a forward. Autograd is not told: the value written is the one that
// the forward uses, and a quantizer may run twice before its backward.
#pragma once

namespace at {
class Tensor;
}

namespace quench {

void write_in_place(const at::Tensor& target, const at::Tensor& value);

}  // namespace quench
