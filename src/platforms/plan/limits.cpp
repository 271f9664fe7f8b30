
#include <iterator>

#include "quench/error.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

// "8", "4 or 8", "1 to 8", "1 to 8 or 16".
std::string text_of(const std::set<int>& bits) {
  std::string text;
  for (auto first = bits.begin(); first != bits.end();) {
    auto last = first, next = std::next(first);
    while (next != bits.end() && *next == *last + 1) last = next++;
    text += concat(text.empty() ? "" : " or ", *first);
    if (first != last) text += concat(*last == *first + 1 ? " or " : " to ", *last);
    first = next;
  }
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

// Codes without regard to how many scales there are.
std::string beyond_codes(const PlanEntry& entry, const Limits& limits, const std::string& what) {
  const QScheme& scheme = entry.scheme;
  const bool is_activation = entry.role == Role::kActivation;
  if (!limits.formats.contains(scheme.format()))
    return concat(what, " in '", scheme.text(), "'", limits.formats.size() == 1 ? " (integers only)" : "");
  const std::set<int>& bits = is_activation ? limits.activation_bits : limits.weight_bits;
  if (!bits.contains(scheme.bits())) return concat(scheme.bits(), "-bit ", what, " (", text_of(bits), " bits only)");
  if (!limits.affine && !scheme.symmetric()) return concat("affine ", what, " (symmetric only)");
  const Signs signs = is_activation ? limits.activations : limits.weights;
  if (signs == Signs::kSigned && !scheme.is_signed()) return concat("unsigned ", what, " (signed only)");
  if (signs == Signs::kUnsigned && scheme.is_signed()) return concat("signed ", what, " (unsigned only)");
  if (!limits.lowest_code && !scheme.narrow()) return concat(what, " with the code ", scheme.qmin(), " (narrow only)");
  return "";
}

std::string beyond_scales(const PlanEntry& entry, const Limits& limits, const std::string& what) {
  const QScheme& scheme = entry.scheme;
  const bool is_activation = entry.role == Role::kActivation;
  const bool channels = is_activation ? limits.split_activations : limits.channel_weights;
  if (scheme.granularity() == Granularity::kChannel && !channels)
    return concat("per-channel ", what, " (per tensor only)");
  const bool groups = is_activation ? limits.split_activations : limits.group_weights;
  if (scheme.granularity() == Granularity::kGroup && !groups) return concat(what, " in groups");
  if (!limits.any_scale && !scheme.power_of_two_scale()) return concat(what, " with any scale (powers of two only)");
  return "";
}

}  // namespace

void use_one_scale(PlanEntry& entry, const std::string& why) {
  QSchemeSpec scheme = entry.scheme.spec();
  scheme.granularity = Granularity::kTensor;
  scheme.axis = 0;
  entry.scheme = QScheme(scheme);
  entry.rule += "; per tensor: " + why;
}

std::set<int> up_to_bits(int most) {
  std::set<int> bits;
  for (int one = 1; one <= most; ++one) bits.insert(one);
  return bits;
}

std::string beyond(const PlanEntry& entry, const Limits& limits) {
  const std::string what = plural_of(entry.role), codes = beyond_codes(entry, limits, what);
  return codes.empty() ? beyond_scales(entry, limits, what) : codes;
}

}  // namespace quench
