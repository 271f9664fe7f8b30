// Dropout: the identity, except in a training run.
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// Whether it drops is the run's decision (and the node's frozen flag), not the file's training_mode.
std::vector<RtValue> dropout(const Node& node, const Inputs& in, ExecContext& context) {
  const at::Tensor& x = in[0].tensor();
  const double ratio = number_at(in, 1, 0.5);
  QUENCH_CHECK(ratio >= 0.0 && ratio < 1.0, node.where(), ": the ratio must be in [0, 1), not ", ratio);
  const bool wants_mask = wants_output(node, 1);
  if (!context.training || node.frozen || ratio == 0.0) {
    if (!wants_mask) return {x};
    return {x, at::ones_like(x, x.options().dtype(at::kBool).requires_grad(false))};
  }
  const at::Tensor kept = at::empty_like(x).detach().bernoulli_(1.0 - ratio, context.generator());
  return {x * kept.div(1.0 - ratio), kept.to(at::kBool)};
}

void dropout_shapes(Node& node) {
  set_type(node, 0, input_dtype(node, 0), input_dims(node, 0));
  set_type(node, 1, DType::kBool, input_dims(node, 0));
}

OpTraits dropout_traits() {
  OpTraits traits;
  traits.range = RangeRule::kPasses;
  traits.keeps_sign = true;
  traits.host_slots = {1, 2};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Dropout", dropout, dropout_shapes, dropout_traits(),
                   "in training: zeroes elements at random and scales the rest")

}  // namespace quench
