#include "platforms/plan/limits.h"

#include "quench/error.h"

namespace quench {
namespace {

std::string text_of(const std::set<int>& bits) {
  std::string text;
  for (const int one : bits) text += concat(text.empty() ? "" : " or ", one);
  return text;
}

std::string plural_of(Role role) {
  switch (role) {
    case Role::kWeight: return "weights";
    case Role::kActivation: return "activations";
    case Role::kBias: return "biases";
  }
  return "";
}

}  // namespace

std::string beyond(const PlanEntry& entry, const Limits& limits) {
  const QScheme& scheme = entry.scheme;
  const std::string what = plural_of(entry.role);
  if (!scheme.is_int()) return concat(what, " in '", scheme.text(), "' (integers only)");
  const std::set<int>& bits = entry.role == Role::kActivation ? limits.activation_bits : limits.weight_bits;
  if (!bits.contains(scheme.bits())) return concat(scheme.bits(), "-bit ", what, " (", text_of(bits), " bits only)");
  if (!limits.affine && !scheme.symmetric()) return concat("affine ", what, " (symmetric only)");
  if (!limits.unsigned_codes && !scheme.is_signed()) return concat("unsigned ", what, " (signed only)");
  const bool channels = entry.role != Role::kActivation && limits.channel_weights;
  if (scheme.granularity() == Granularity::kChannel && !channels)
    return concat("per-channel ", what, " (per tensor only)");
  if (scheme.granularity() == Granularity::kGroup) return concat(what, " in groups");
  if (!limits.any_scale && !scheme.power_of_two_scale()) return concat(what, " with any scale (powers of two only)");
  return "";
}

}  // namespace quench
