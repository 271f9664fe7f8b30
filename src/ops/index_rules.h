// What the operators that take index tensors share.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace quench {

// As int64, negative ones counted from the end; throws, with the range, when one is out of it.
at::Tensor wrapped_indices(const at::Tensor& indices, std::int64_t size);

}  // namespace quench
