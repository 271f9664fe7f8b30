// The loops of kernels/affine/learned.h. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_affine.h"
#include "kernels/simd/loops_philox.h"
#include "quant/adaround.h"
#include "quant/pact.h"

namespace quench {
namespace {

void dsq_backward(const ChannelTable& t, Piece piece, DsqShape shape, const float* dy, const float* x, float* dx) {
  each_by(t, piece, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      dx[i] = dy[i] * dsq_slope(in_steps(x[i], c.affine, by.kValue), c.affine.steps, shape);
    };
  });
}

void pact_forward(const ChannelTable& t, Piece piece, ClipRange clip, const float* x, float* y) {
  each_by(t, piece, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      const float v = in_steps(pact_clip(x[i], clip.low, clip.high), c.affine, by.kValue);
      y[i] = nearest_step(v, c.affine.steps) * c.affine.scale;
    };
  });
}

void pact_backward(const ChannelTable& t, Piece piece, ClipRange clip, const float* dy, const float* x, float* dx,
                   Sums to) {
  sum_each_by(t, piece, to, kNothing, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      const float g = dy[i], v = in_steps(x[i], c.affine, by.kValue);
      dx[i] = pact_passes(x[i], v, clip.low, clip.high, c.affine.steps) ? g : 0.0F;
      return Terms{x[i] > clip.high ? g : 0.0F, x[i] < clip.low ? g : 0.0F};
    };
  });
}

void adaround_forward(const ChannelTable& t, Piece piece, const float* w, const float* alpha, float* y) {
  each_by(t, piece, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      y[i] = adaround_step(in_steps(w[i], c.affine, by.kValue), alpha[i], c.affine.steps) * c.affine.scale;
    };
  });
}

void adaround_backward(const ChannelTable& t, Piece piece, const float* dy, const float* w, const float* alpha,
                       float* dalpha) {
  each_by(t, piece, [=](auto by) {
    return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      const float slope = adaround_slope(in_steps(w[i], c.affine, by.kValue), alpha[i], c.affine.steps);
      dalpha[i] = dy[i] * c.affine.scale * slope;
    };
  });
}

void qdrop_forward(const ChannelTable& t, Piece piece, const DropCoin& coin, const float* x, float* y) {
  alignas(64) std::uint32_t buffer[kDropBlock + kDropSlack];
  for (std::int64_t begin = piece.begin; begin < piece.end; begin += kDropBlock) {
    const std::int64_t end = least(piece.end, begin + kDropBlock);
    fill_words(coin, begin, end, buffer);
    const std::uint32_t *words = buffer, threshold = coin.threshold;
    const std::int64_t origin = begin / 4 * 4;
    each_by(t, {begin, end}, [=](auto by) {
      return [=](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
        const float quantized = nearest_step(in_steps(x[i], c.affine, by.kValue), c.affine.steps) * c.affine.scale;
        y[i] = words[i - origin] >> 8 < threshold ? quantized : x[i];
      };
    });
  }
}

void qdrop_backward(const ChannelTable& t, Piece piece, const DropCoin& coin, const float* dy, const float* x,
                    float* dx, Sums to) {
  alignas(64) std::uint32_t buffer[kDropBlock + kDropSlack];
  std::int64_t origin = 0;
  const auto prepare = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    fill_words(coin, begin, end, buffer);
    origin = begin / 4 * 4;
  };
  const std::uint32_t *words = buffer, threshold = coin.threshold;
  sum_each_by(t, piece, to, prepare, [=, &origin](auto by) {
    return [=, &origin](const Channel& c, std::int64_t i) __attribute__((always_inline)) {
      const float g = dy[i], v = in_steps(x[i], c.affine, by.kValue);
      const bool quantized = words[i - origin] >> 8 < threshold;
      dx[i] = !quantized || in_range(v, c.affine.steps) ? g : 0.0F;
      return Terms{quantized ? g * scale_slope(v, c.affine.steps) : 0.0F, 0.0F};
    };
  });
}

}  // namespace
}  // namespace quench
