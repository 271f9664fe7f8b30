#include "ops/moving.h"

namespace quench {

OpTraits moving(std::vector<int> host_slots) {
  OpTraits traits;
  traits.range = RangeRule::kPasses;
  traits.keeps_sign = true;
  traits.moves_codes = [](const Node&) { return true; };
  traits.host_slots = std::move(host_slots);
  return traits;
}

}  // namespace quench
