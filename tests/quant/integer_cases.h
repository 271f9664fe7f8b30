// Random codes and types for tests of integer arithmetic.
#pragma once

#include <ATen/ATen.h>

#include "quant/integer_ops.h"

namespace quench {

constexpr Requantize kAllRules[] = {Requantize::kMlas,   Requantize::kMlasPlain, Requantize::kTflite,
                                    Requantize::kHalfUp, Requantize::kAway,      Requantize::kAffine,
                                    Requantize::kFloat,  Requantize::kFbgemm,    Requantize::kQnnpack};

inline QType type_of(const char* scheme, float scale, std::int32_t zero_point = 0) {
  return {QScheme::parse(scheme), {{scale}, {zero_point}}};
}

inline at::Tensor random_codes(at::IntArrayRef sizes, const QScheme& scheme) {
  return store_codes(at::randint(scheme.qmin(), scheme.qmax() + 1, sizes, at::kLong), scheme);
}

// Scales from `scale` to twice that.
inline QType channel_type(const char* scheme, std::int64_t channels, float scale, bool zero_points = false) {
  QType type{QScheme::parse(scheme), {}};
  for (std::int64_t c = 0; c < channels; ++c) {
    type.params.scale.push_back(scale * (1.0F + static_cast<float>(c) / static_cast<float>(channels)));
    type.params.zero_point.push_back(zero_points ? static_cast<std::int32_t>(c % 7) - 3 : 0);
  }
  return type;
}

}  // namespace quench
