// How far two tensors are apart, element by element.
#pragma once

namespace at {
class Tensor;
}

namespace quench {

// |a - b|, of floats; infinite where just one of them is finite or NaN, or they are infinities of other signs.
at::Tensor apart(const at::Tensor& a, const at::Tensor& b);

}  // namespace quench
