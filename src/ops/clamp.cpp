#include "ops/clamp.h"

#include <ATen/ATen.h>

namespace quench {
namespace {

void read_bound(const Node& clip, int slot, double& bound, bool& known) {
  const Value* value = clip.input(slot);
  if (!value) return;
  if (value->is_constant() && value->tensor().numel() == 1)
    bound = value->tensor().item<double>();
  else
    known = false;
}

}  // namespace

bool is_clamp(const Node& node) { return node.op() == "Relu" || node.op() == "Clip"; }

Clamp clamp_of(const Node& node) {
  Clamp clamp;
  clamp.known = is_clamp(node);
  if (node.op() == "Relu") clamp.low = 0.0;
  if (node.op() == "Clip") {
    read_bound(node, 1, clamp.low, clamp.known);
    read_bound(node, 2, clamp.high, clamp.known);
  }
  return clamp;
}

bool is_relu6(const Node& node) {
  const Clamp clamp = clamp_of(node);
  return clamp.known && clamp.low == 0.0 && clamp.high == 6.0;
}

}  // namespace quench
