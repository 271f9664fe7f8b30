// The loops of kernels/affine/affine.h. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_sum.h"

namespace quench {
namespace {

constexpr auto kNothing = [](std::int64_t, std::int64_t) __attribute__((always_inline)) {};

void fake_quantize(const ChannelTable& t, Piece piece, const float* x, float* y) {
  each_by(t, piece, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      y[i] = nearest_step(in_steps(x[i], c.affine, by.kValue), c.affine.steps) * c.affine.scale;
    };
  });
}

void codes(const ChannelTable& t, Piece piece, const float* x, std::int32_t* q) {
  each_by(t, piece, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      q[i] = code_of(in_steps(x[i], c.affine, by.kValue), c.affine.steps, c.zero_point);
    };
  });
}

void dequantize(const ChannelTable& t, Piece piece, const std::int32_t* q, float* y) {
  each(t, piece, [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
    y[i] = step_of_code(q[i], c.zero_point) * c.affine.scale;
  });
}

void masked(const ChannelTable& t, Piece piece, const float* x, float* y, bool* mask) {
  each_by(t, piece, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      const float v = in_steps(x[i], c.affine, by.kValue);
      y[i] = nearest_step(v, c.affine.steps) * c.affine.scale;
      mask[i] = in_range(v, c.affine.steps);
    };
  });
}

void masked_gradient(Piece piece, const float* dy, const bool* mask, float* dx) {
  QUENCH_NO_ALIAS
  for (std::int64_t i = piece.begin; i < piece.end; ++i) dx[i] = mask[i] ? dy[i] : 0.0F;
}

void lsq_backward(const ChannelTable& t, Piece piece, const float* dy, const float* x, float* dx, Sums to) {
  sum_each_by(t, piece, to, kNothing, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      const float v = in_steps(x[i], c.affine, by.kValue), g = dy[i];
      const bool inside = in_range(v, c.affine.steps);
      dx[i] = inside ? g : 0.0F;
      return Terms{g * scale_slope(v, c.affine.steps), inside ? 0.0F : g};
    };
  });
}

void widen_bfloat16(const std::uint16_t* from, std::int64_t count, float* to) {
  QUENCH_NO_ALIAS
  for (std::int64_t i = 0; i < count; ++i) to[i] = __builtin_bit_cast(float, static_cast<std::uint32_t>(from[i]) << 16);
}

void narrow_to_bfloat16(const float* from, std::int64_t count, std::uint16_t* to) {
  QUENCH_NO_ALIAS
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, from[i]);
    const std::uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    to[i] = static_cast<std::uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC0 : rounded);  // NaN stays one
  }
}

}  // namespace
}  // namespace quench
