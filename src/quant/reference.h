// Quantization of whole tensors in every format, as plain loops: what fast kernels, integer execution and
// deployed files are measured against.
#pragma once

#include "quench/qtype.h"

namespace at {
class Tensor;
}

namespace quench {

// Throws unless every scale is positive and finite: the codes would be undefined otherwise.
void check_scales(const QParams& params);

// Codes as LibTorch stores them: int8, uint8, int16 or uint16 (narrower integers one code per element),
// Float8_e4m3fn, Float8_e5m2; log codes in uint8. x is taken as float32, on the CPU. NaN gives the zero
// point's code, or the format's NaN.
at::Tensor quantize_reference(const at::Tensor& x, const QType& type, QuantizeBy by = QuantizeBy::kDivision);
// Float32. Any integer type holds integer codes.
at::Tensor dequantize_reference(const at::Tensor& codes, const QType& type);
// dequantize(quantize(x)), except for NaN, which stays.
at::Tensor fake_quantize_reference(const at::Tensor& x, const QType& type, QuantizeBy by = QuantizeBy::kDivision);

// Integer codes in the type that stores the scheme's; throws if one is out of the scheme's range.
at::Tensor store_codes(const at::Tensor& codes, const QScheme& scheme);

}  // namespace quench
