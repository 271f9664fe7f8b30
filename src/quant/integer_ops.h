// Operators on plain integer codes: the arithmetic of a deployed network, op by op. Sums are exact and must
// fit int32; each result is requantized once, as `Arithmetic` says, to codes stored as the result's scheme
// stores them. Codes may come in any integer type. Simple, on the CPU: what fast paths must equal bit for bit.
//
// Reshape, Transpose, Flatten, Slice and the like move codes and keep their type: they need no function here.
#pragma once

#include "quant/requantize.h"

namespace quench {

// Codes and what they mean, for the duration of a call.
struct QTensor {
  const at::Tensor& codes;
  const QType& type;
};

struct Output {
  const QType& type;  // an integer scheme per tensor
  Arithmetic arithmetic;
  Clip clip;  // of an activation fused into the op
};

// Attributes as ONNX has them, with explicit pads: all begins, then all ends. Empty: strides and dilations of 1,
// pads of 0.
struct IntegerWindow {
  std::vector<std::int64_t> strides, pads, dilations;
};

// x [N, C, spatial...], w [M, C/groups, kernel...] with scales per tensor or per channel of axis 0; bias int32
// [M] at s_x * s_w, or undefined. Padding has the value zero, so its code is x's zero point.
at::Tensor integer_conv(const QTensor& x, const QTensor& w, const at::Tensor& bias, const IntegerWindow& window,
                        std::int64_t groups, const Output& y);

// x [N, C, spatial...], w [C, M/groups, kernel...] with scales per tensor or per channel of axis 1, one for each place
// in a group.
struct TransposedWindow {
  IntegerWindow window;
  std::vector<std::int64_t> output_padding;  // empty: 0
};
at::Tensor integer_conv_transpose(const QTensor& x, const QTensor& w, const at::Tensor& bias,
                                  const TransposedWindow& window, std::int64_t groups, const Output& y);

// a [..., M, K] x b [..., K, N]; b may have scales per column (its last axis). The bias is int32 [N] at
// s_a * s_b, or undefined.
at::Tensor integer_matmul(const QTensor& a, const QTensor& b, const at::Tensor& bias, const Output& y);
// Matrices, transposed first where asked; alpha and beta are 1. b may have scales per column of the product.
struct Transposed {
  bool a = false, b = false;
};
at::Tensor integer_gemm(const QTensor& a, const QTensor& b, const at::Tensor& bias, Transposed transposed,
                        const Output& y);

// With ONNX's broadcasting. Operands are per tensor. Under mlas the zero point is added before the rounding, as
// ONNX Runtime's kernels for these two do.
at::Tensor integer_add(const QTensor& a, const QTensor& b, const Output& y);
at::Tensor integer_mul(const QTensor& a, const QTensor& b, const Output& y);

// Inputs that have the result's type pass; the others are requantized.
at::Tensor integer_concat(const std::vector<QTensor>& inputs, std::int64_t axis, const Output& y);
at::Tensor integer_requantize(const QTensor& x, const Output& y);

// The result has x's type: Relu is {0, inf}.
at::Tensor integer_clip(const QTensor& x, const Clip& clip);
// Pads as ONNX has them (all begins, then all ends; none negative), with the code of `value`.
at::Tensor integer_pad(const QTensor& x, const std::vector<std::int64_t>& pads, float value = 0.0F);

struct Pool {
  std::vector<std::int64_t> kernel;
  IntegerWindow window;
  bool ceil_mode = false;
  bool count_include_pad = false;  // of an average
};
// The result has x's type.
at::Tensor integer_max_pool(const QTensor& x, const Pool& pool);
// One requantization with M = s_x / (s_y * count). Under mlas a window that is not all of x is averaged in
// float32, as ONNX Runtime does it.
at::Tensor integer_average_pool(const QTensor& x, const Pool& pool, const Output& y);
at::Tensor integer_global_average_pool(const QTensor& x, const Output& y);

}  // namespace quench
