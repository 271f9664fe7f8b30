#include "platforms/plan/refuse.h"

#include "quench/error.h"

namespace quench {
namespace {

std::string plural(Role role) {
  switch (role) {
    case Role::kWeight: return "weights";
    case Role::kActivation: return "activations";
    case Role::kBias: return "biases";
  }
  return "";
}

}  // namespace

std::string refuse_unless_8_bit(const PlanEntry& entry, bool is_signed) {
  const std::string what = concat("'", entry.scheme.text(), "' ", plural(entry.role));
  if (!entry.scheme.is_int()) return what + " (it takes integers)";
  if (entry.scheme.bits() > 8) return what + " (it takes 8 bits at most)";
  if (entry.scheme.is_signed() != is_signed)
    return concat(what, " (it takes ", is_signed ? "signed" : "unsigned", " ones)");
  return "";
}

std::string refuse_unless_per_tensor(const PlanEntry& entry) {
  if (entry.scheme.per_tensor()) return "";
  return concat("'", entry.scheme.text(), "' ", plural(entry.role), " (it takes one scale per tensor)");
}

std::string refuse_unless_symmetric(const PlanEntry& entry) {
  if (entry.scheme.symmetric()) return "";
  return concat("'", entry.scheme.text(), "' ", plural(entry.role), " (it takes symmetric ones)");
}

}  // namespace quench
