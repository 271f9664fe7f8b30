// Ways around LibTorch's gaps: it has few kernels for uint16, uint32, uint64 and the 8-bit floats. Ops
// that only move elements go through a signed type of the same width; ops that compute, through a wider one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
enum class ScalarType : std::int8_t;
}

namespace quench {

bool has_kernels(c10::ScalarType type);  // false for uint16, uint32, uint64 and the 8-bit floats

// The same bits in a type that has kernels (uint16 -> int16, fp8 -> uint8), and back.
at::Tensor as_movable(const at::Tensor& tensor);
std::vector<at::Tensor> as_movable(const std::vector<at::Tensor>& tensors);
at::Tensor from_movable(const at::Tensor& tensor, c10::ScalarType type);

// The same numbers in a type that has kernels (uint16 -> int32, uint32 -> int64, fp8 -> float); uint64
// becomes int64 with the same bits: right for +, -, *, wrong for order and division.
at::Tensor widen(const at::Tensor& tensor);
at::Tensor narrow(const at::Tensor& tensor, c10::ScalarType type);  // integers wrap

// As widen, but a uint64 has its top bit flipped, so that signed comparison orders it correctly.
at::Tensor ordered(const at::Tensor& tensor);
at::Tensor from_ordered(const at::Tensor& tensor, c10::ScalarType type);

// For what LibTorch computes only on floating-point types: floats as they are, integers and bools as double and back
// (fractions are dropped), complex numbers by real and imaginary part.
at::Tensor in_floats(const at::Tensor& x, const std::function<at::Tensor(const at::Tensor&)>& compute);

}  // namespace quench
