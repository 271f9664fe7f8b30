// quench.FakeQuant: inputs x, scale, zero point, then the algorithm's own tensors in declared order; attributes as
// node_spec.h has them. With after_relu (the pass fuse_relu_quantizers) max(x, 0) stands for x.
#include <ATen/ATen.h>

#include <memory>

#include "ops/shape_rules.h"
#include "quantized/spelling.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

FakeQuantTensors state_of(const Inputs& in) {
  FakeQuantTensors tensors;
  for (std::size_t i = 1; i < in.size(); ++i) tensors.all.push_back(in[i].tensor());
  return tensors;
}

std::vector<RtValue> fake_quant(const Node& node, const Inputs& in, ExecContext& context) {
  const QuantFlags flags = fake_quant_flags(node);
  const bool relu = node.get_int("after_relu", 0) != 0;
  if (!flags.observe && !flags.quantize) return {relu ? RtValue(at::relu(in[0].tensor())) : in[0]};
  const std::shared_ptr<const FakeQuant> algorithm = fake_quant_of(node);
  const FakeQuantRun run{flags, context.observer(node), context.random_key(node), context.reconstructing, relu};
  return {run_fake_quant(*algorithm, in[0].tensor(), state_of(in), run)};
}

// Once per executor: whether what the file or the caller put there makes sense.
Inputs check_state(const Node& node, const Inputs& in) {
  for (std::size_t slot = 1; slot < node.inputs().size(); ++slot)
    QUENCH_CHECK(node.inputs()[slot] && node.inputs()[slot]->is_constant(), node.where(), ": input ", slot,
                 " must be a constant: it is the quantizer's state");
  const FakeQuantSpec spec = fake_quant_spec(node);
  const std::size_t count = params_of(spec).size();
  QUENCH_CHECK(in.size() == count + 1, node.where(), ": '", spec.algorithm, "' takes ", count + 1, " inputs, not ",
               in.size());
  check_values(spec, state_of(in));
  return Inputs(in.size());  // nothing is replaced
}

// The tensors that the algorithm learns, and the weight that it quantizes.
std::vector<int> learned_slots(const Node& node) {
  const FakeQuantSpec spec = fake_quant_spec(node);
  // Without the plug-in that it needs a graph can still be inspected; running it names the algorithm.
  if (!FakeQuantRegistry::instance().find(spec.algorithm)) return {};
  std::vector<int> slots;
  if (spec.role != Role::kActivation) slots.push_back(0);
  const std::vector<FakeQuantParam> params = params_of(spec);
  for (std::size_t i = 0; i < params.size(); ++i)
    if (params[i].learnable) slots.push_back(static_cast<int>(i) + 1);
  return slots;
}

OpTraits fake_quant_traits() {
  OpTraits traits;
  traits.quantizes = true;
  traits.keeps_sign = true;
  traits.learned_slots = learned_slots;
  traits.state_from = 1;
  return traits;
}

}  // namespace

QUENCH_REGISTER_ITEM(OpEntry, kFakeQuantOp, "what quantization does to a tensor, in float, with a gradient",
                     {fake_quant, same_as_input, fake_quant_traits(), check_state})

}  // namespace quench
