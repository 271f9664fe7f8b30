// The bridge between our DType and LibTorch's scalar types. int4, uint4, int2, uint2 hold one code in an
// int8 or uint8; fp4 and e8m0 one code in a uint8 (LibTorch's own e8m0 has few kernels).
#pragma once

#include <cstdint>
#include <vector>

#include "quench/type_info.h"

namespace at {
class Tensor;
}
namespace c10 {
enum class ScalarType : std::int8_t;
}

namespace quench {

c10::ScalarType scalar_type_of(DType dtype);  // throws for string
DType dtype_of(c10::ScalarType type);         // throws for a type that ONNX lacks (quantized ...)
DType dtype_of(const at::Tensor& tensor);
Dims dims_of(const at::Tensor& tensor);

// The elements of an integer (or bool) tensor of any device, as int64.
std::vector<std::int64_t> integers_of(const at::Tensor& tensor);
at::Tensor integer_tensor(const std::vector<std::int64_t>& values);  // 1-D int64, on the CPU
// Same dtype, shape and bits (NaNs compare by bits).
bool bit_equal(const at::Tensor& a, const at::Tensor& b);

}  // namespace quench
