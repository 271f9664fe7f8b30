// quench.QuantizeBias: a bias as a target that adds it to an int32 accumulator sees it (docs/numerics.md 11).
//   inputs bias, scale of the layer's input, scale of its weight      y = round(b / (s_x * s_w)) * (s_x * s_w)
//   attribute quantize: 0 is the identity
// Channel c has the entry c modulo their number of s_w: one for all, one each, or one for each place in a group.
// The scales are those of the two quantizers' own constants, so that they can never get out of step. Its gradient is
// the identity: a step of the bias is about a thousand times finer than one of the weights.
#include <ATen/ATen.h>

#include "ops/shape_rules.h"
#include "quant/code_tensor.h"
#include "quantized/spelling.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

std::vector<RtValue> quantize_bias(const Node& node, const Inputs& in, ExecContext&) {
  if (node.get_int("quantize", 0) == 0) return {in[0]};
  const at::Tensor& bias = in[0].tensor();
  // The product is float32, as quant/accumulator.h has it.
  at::Tensor step = (in[1].tensor().detach().abs() * in[2].tensor().detach().abs()).to(at::kDouble);
  QUENCH_CHECK(step.dim() <= 1 && step.numel() > 0 && bias.numel() % step.numel() == 0, node.where(), ": ",
               step.numel(), " scales do not fit a bias of ", bias.numel());
  if (step.numel() > 1) step = step.repeat({bias.numel() / step.numel()}).reshape(bias.sizes());
  const at::Tensor codes = nearest_codes(bias.detach().to(at::kDouble) / step, {}, code_range(32, true));
  const at::Tensor rounded = (codes * step).to(bias.scalar_type()).reshape(bias.sizes());
  if (!bias.requires_grad()) return {RtValue(rounded)};
  return {RtValue(bias + (rounded - bias.detach()))};
}

OpTraits quantize_bias_traits() {
  OpTraits traits;
  traits.quantizes = true;
  traits.parameter_slots = {0};
  traits.state_from = 1;
  return traits;
}

}  // namespace

QUENCH_REGISTER_ITEM(OpEntry, kQuantizeBiasOp, "a bias in int32 at the product of two scales, in float",
                     {quantize_bias, same_as_input, quantize_bias_traits()})

}  // namespace quench
