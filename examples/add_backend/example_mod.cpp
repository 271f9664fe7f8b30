// Step 2, a user's own operator with a weight: ExampleMod(x, w) adds up each channel and the next one, weighted:
//   y[n, c, ...] = w[c, 0] x[n, c, ...] + w[c, 1] x[n, (c + 1) mod C, ...]
// In a model file it is the operator ExampleMod of the domain "example".
#include <ATen/ATen.h>

#include "quench/op.h"

namespace {

std::vector<quench::RtValue> evaluate(const quench::Node& node, const quench::Inputs& in, quench::ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &w = in[1].tensor();
  QUENCH_CHECK(x.dim() >= 2 && w.dim() == 2 && w.size(1) == 2 && w.size(0) == x.size(1), node.where(),
               ": ExampleMod takes a weight of the shape [C, 2], not ", w.sizes(), " for ", x.sizes());
  std::vector<std::int64_t> per_channel(static_cast<std::size_t>(x.dim()), 1);
  per_channel[1] = x.size(1);
  const at::Tensor own = w.select(1, 0).reshape(per_channel), next = w.select(1, 1).reshape(per_channel);
  return {quench::RtValue(x * own + x.roll(-1, 1) * next)};
}

void shapes(quench::Node& node) { node.output().set_type(node.input(0)->type()); }

quench::OpTraits traits() {
  quench::OpTraits traits;
  traits.weight_slot = 1;
  traits.weight_axis = [](const quench::Node&) { return 0; };
  traits.parameter_slots = {1};  // trains
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("example.ExampleMod", evaluate, shapes, traits(), "each channel and the next one, weighted")
