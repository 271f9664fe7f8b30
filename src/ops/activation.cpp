// Activations: element-wise functions of one input.
#include <ATen/ATen.h>

#include "ops/shape_rules.h"
#include "quench/op.h"

namespace quench {
namespace {

OpTraits relu_traits() {
  OpTraits traits;
  traits.range = RangeRule::kPasses;
  traits.non_negative = true;
  return traits;
}

std::vector<RtValue> relu(const Node&, const Inputs& in, ExecContext&) { return {at::relu(in[0].tensor())}; }

}  // namespace

QUENCH_REGISTER_OP("Relu", relu, same_as_input, relu_traits(), "max(x, 0)")

}  // namespace quench
