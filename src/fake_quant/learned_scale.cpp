#include "fake_quant/learned_scale.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "fake_quant/in_place.h"
#include "quant/scale_rule.h"

namespace quench {

at::Tensor used_scale(const at::Tensor& scale, const QScheme& scheme) {
  const at::Tensor positive = scale.detach().abs().clamp_min_(kScaleFloor);
  if (c10::GradMode::is_enabled()) write_in_place(scale, positive);
  if (!scheme.power_of_two_scale()) return positive;
  // As nearest_power_of_two() does it, for a whole tensor.
  const auto [mantissa, exponent] = at::frexp(positive);
  return at::exp2(at::where(mantissa > 0.70710677F, exponent, exponent - 1).to(at::kFloat));
}

}  // namespace quench
