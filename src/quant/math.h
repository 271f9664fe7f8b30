// exp and what follows from it, as plain float32 arithmetic without branches: the same bits in a loop of any
// vector width, on the CPU and on CUDA. The C library's functions differ between machines.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "quant/affine.h"

namespace quench {

#ifdef __CUDA_ARCH__
QUENCH_HD inline std::uint32_t bits_of(float v) { return __float_as_uint(v); }
QUENCH_HD inline float float_of(std::uint32_t bits) { return __uint_as_float(bits); }
QUENCH_HD inline float round_down(float v) { return floorf(v); }
#else
QUENCH_HD inline std::uint32_t bits_of(float v) { return __builtin_bit_cast(std::uint32_t, v); }
QUENCH_HD inline float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
QUENCH_HD inline float round_down(float v) { return __builtin_floorf(v); }
#endif

// e^x within 2 ulp for x in [-87, 88]; what lies outside is taken to the nearer end, NaN stays NaN. Cephes'
// expf: x = n ln 2 + r with ln 2 in two parts (the first with few bits, so that its product with n is exact),
// a polynomial on |r| <= ln 2 / 2, and 2^n put together as bits.
QUENCH_HD inline float exp_approx(float x) {
  x = clamp_steps(x, {-87.0F, 88.0F});
  const float magic = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float shifted = x * 1.44269504F + magic;
  const float n = shifted - magic;
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = (p * (r * r) + r) + 1.0F;
  return p * float_of((bits_of(shifted) - bits_of(magic) + 127U) << 23);
}

QUENCH_HD inline float absolute(float x) { return float_of(bits_of(x) & 0x7fffffffU); }

// 1 / (1 + e^-x), with the exponential always of a negative number: nothing overflows or cancels.
QUENCH_HD inline float sigmoid(float x) {
  const float e = exp_approx(-absolute(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

// 1 - tanh^2(x) = 4 e^-2|x| / (1 + e^-2|x|)^2, without the difference.
QUENCH_HD inline float tanh_slope(float x) {
  const float e = exp_approx(-2.0F * absolute(x));
  const float d = 1.0F + e;
  return 4.0F * e / (d * d);
}

}  // namespace quench
