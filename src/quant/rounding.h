// The rounding rules that targets use at ties (docs/numerics.md 5.7); the affine op itself rounds half to even.
#pragma once

#include <cstdint>
#include <string>

#include "quant/affine.h"

namespace at {
class Tensor;
}

namespace quench {

enum class Rounding : std::uint8_t {
  kHalfEven,
  kHalfUpNegative,  // Vitis activations: ties of negative numbers go up, others to even
  kHalfUp,          // floor(v + 1/2)
  kHalfAway,        // away from zero
};

const char* name_of(Rounding rounding);  // "half_even", "half_up_negative", "half_up", "half_away"
Rounding rounding_from_name(const std::string& name);

// Every rule is half-to-even except at exact ties: those are the v that lie 1/2 from it, where the subtraction is
// exact.
QUENCH_HD inline float round_by(float v, Rounding rounding) {
  const float even = round_even(v);
  const float beyond = v - even;
  const bool up = rounding == Rounding::kHalfUp || (rounding == Rounding::kHalfUpNegative && v < 0.0F) ||
                  (rounding == Rounding::kHalfAway && v > 0.0F);
  if (up && beyond == 0.5F) return even + 1.0F;
  const bool down = rounding == Rounding::kHalfAway && v < 0.0F;
  if (down && beyond == -0.5F) return even - 1.0F;
  return even;
}

// The same for every element of a float tensor, on any device.
at::Tensor round_by(const at::Tensor& v, Rounding rounding);

}  // namespace quench
