#include "deploy/forms/clamp.h"

#include <ATen/ATen.h>

namespace quench {
namespace {

float bound_of(const Node& clip, int slot, float none, bool& known) {
  const Value* value = clip.input(slot);
  if (!value) return none;
  known = known && value->is_constant();
  return value->is_constant() ? value->tensor().item<float>() : none;
}

}  // namespace

Clamp clamp_of(const Node& node) {
  Clamp clamp;
  if (node.op() == "Relu") {
    clamp.low = 0.0F;
  } else if (node.op() == "Clip") {
    clamp.low = bound_of(node, 1, clamp.low, clamp.known);
    clamp.high = bound_of(node, 2, clamp.high, clamp.known);
  } else {
    clamp.known = false;
  }
  return clamp;
}

}  // namespace quench
