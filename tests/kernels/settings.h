// Tensors, schemes and scales on which the fused loops are compared with their plain twins.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "quench/quant.h"

namespace quench {

// A shape, how it lies in memory, and a scheme for it.
struct Setting {
  std::string name;
  at::Tensor x;
  QScheme scheme;
};

inline at::Tensor numbers(at::IntArrayRef sizes) {
  at::Tensor x = at::randn(sizes) * 3;
  // Values on exact half steps (ties), ends of the range, and what is not a number.
  at::Tensor flat = x.view({-1});
  if (flat.numel() > 40) {
    flat.slice(0, 0, 32).copy_(at::arange(-16, 16) * 0.125F);
    flat[33] = NAN;
    flat[34] = INFINITY;
    flat[35] = -INFINITY;
    flat[36] = -0.0F;
    flat[37] = 1e30F;
  }
  return x;
}

inline at::Tensor channels_last(at::IntArrayRef sizes) {
  return numbers(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

inline std::vector<Setting> settings() {
  const auto scheme = [](const char* text) { return QScheme::parse(text); };
  return {
      {"tensor", numbers({3, 5, 37, 11}), scheme("int8 symmetric tensor")},
      {"tensor, several chunks", numbers({9, 4099}), scheme("uint8 affine tensor")},
      {"one element", numbers({1}), scheme("int4 symmetric tensor")},
      {"0-d", numbers({}), scheme("int4 symmetric tensor")},
      {"empty", numbers({0, 3}), scheme("int8 symmetric tensor")},
      {"empty channels", numbers({0, 3}), scheme("int8 symmetric channel:1")},
      {"channel, long runs", numbers({2, 3, 70, 71}), scheme("int8 symmetric channel:1")},
      {"channel, short runs", numbers({6, 17, 3, 3}), scheme("uint4 affine channel:1")},
      {"channel, runs of 17", numbers({2, 5, 17}), scheme("uint4 affine channel:1")},
      {"channel, last axis", numbers({700, 37}), scheme("int4 affine channel:-1")},
      {"channels last in memory", channels_last({3, 37, 9, 9}), scheme("uint8 affine channel:1")},
      {"weight, axis 0", numbers({40, 3, 3, 3}), scheme("int8 symmetric channel:0 narrow")},
      {"depthwise weight", numbers({40, 1, 3, 3}), scheme("int8 symmetric channel:0")},
      {"one channel", numbers({7, 1, 31}), scheme("int8 symmetric channel:1")},
      {"group, last axis", numbers({6, 96}), scheme("int4 symmetric group:1:32")},
      {"group of 3", numbers({6, 96}), scheme("int4 affine group:1:3")},
      {"group, first axis", numbers({64, 5, 3, 3}), scheme("int4 affine group:0:16")},
      {"group, channels last", channels_last({4, 32, 3, 3}), scheme("int4 affine group:1:8")},
      {"not dense", numbers({9, 8, 14}).slice(2, 0, 14, 2), scheme("int8 symmetric channel:1")},
      {"transposed", numbers({9, 8, 14}).transpose(0, 2), scheme("int8 affine channel:1")},
      {"1 bit", numbers({9, 77}), scheme("int1 symmetric tensor")},
      {"16 bits", numbers({9, 77}), scheme("uint16 affine channel:0")},
      {"more rows than a chunk of sums", numbers({5000, 5}), scheme("int8 affine channel:1")},
      {"wide rows", numbers({40, 5000}), scheme("int8 affine channel:1")},
  };
}

inline at::Tensor scales(const Setting& s) {
  const auto shape = s.scheme.scale_shape(s.x.sizes().vec());
  // Multiples of 1/64 that include powers of two: ties do occur.
  return (at::arange(1, 1 + at::zeros(shape).numel(), at::kFloat).remainder(16) + 1).div(64).reshape(shape);
}

// Both ends of the range and what lies between.
inline at::Tensor zeros(const Setting& s) {
  const at::Tensor scale = scales(s);
  if (s.scheme.symmetric()) return at::zeros_like(scale);
  const at::Tensor from = at::arange(0, scale.numel(), at::kFloat) * 5;
  return (from.remainder(s.scheme.levels()) + s.scheme.qmin()).reshape(scale.sizes());
}

// A lane adds at most 256 terms in float32 (kChunk / kLanes, or rows of a chunk): each addition is wrong by half
// an ulp, 2^-24, of a partial sum that is at most the sum of magnitudes. Products and the last rounding: 2 more.
// `magnitude`: the sum of |terms|, at most sum |dy| times the greatest slope.
inline void expect_sums(const at::Tensor& fast, const at::Tensor& plain, double magnitude) {
  ASSERT_EQ(fast.sizes(), plain.sizes());
  const at::Tensor both = at::isnan(fast).logical_and(at::isnan(plain)), error = (fast - plain).abs();
  const double bound = 258 * std::ldexp(1.0, -24) * magnitude;
  EXPECT_TRUE(both.logical_or(error.le(bound)).all().item<bool>()) << fast << plain << bound;
}

// Inside the range a slope is at most half a step, outside it is an end of the range.
inline double magnitude_of(const at::Tensor& dy, const at::Tensor& dx, const QScheme& scheme) {
  const double all = dy.abs().sum().item<double>(), inside = dx.abs().sum().item<double>();
  return 0.5 * inside + (all - inside) * scheme.levels();
}

}  // namespace quench
