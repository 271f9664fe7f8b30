// CausalConvWithState: a depthwise convolution along the last axis that sees only what came before; the last inputs are
// handed on, for the next step of a decoder.
#include <ATen/ATen.h>

#include <array>

#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::array<std::int64_t, 1> kOne = {1}, kNone = {0};  // stride and dilation; padding

enum Slot : std::uint8_t { kInput, kWeight, kBias, kPastState };

bool has_silu(const Node& node) {
  const std::string name = node.get_string("activation", "none");
  QUENCH_CHECK(name == "none" || name == "silu" || name == "swish", node.where(), ": activation '", name,
               "' is not one of none, silu, swish");
  return name != "none";
}

std::vector<RtValue> causal_conv(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[kInput].tensor(), &weight = in[kWeight].tensor();
  QUENCH_CHECK(x.dim() == 3, node.where(), ": the input must be [batch, channels, length], not of rank ", x.dim());
  QUENCH_CHECK(weight.dim() == 3 && weight.size(0) == x.size(1) && weight.size(1) == 1 && weight.size(2) > 0,
               node.where(), ": the weight must be [", x.size(1), ", 1, k]");
  const std::int64_t kept = weight.size(2) - 1;
  const at::Tensor past = given(in, kPastState)
                              ? in[kPastState].tensor()
                              : at::zeros({x.size(0), x.size(1), kept}, x.options().requires_grad(false));
  QUENCH_CHECK(past.dim() == 3 && past.size(2) == kept, node.where(), ": past_state must hold ", kept, " positions");
  const at::Tensor all = at::cat({past, x}, 2);
  const at::Tensor y = at::conv1d(all, weight, optional_tensor(in, kBias), kOne, kNone, kOne, x.size(1));
  return {has_silu(node) ? at::silu(y) : y, all.narrow(2, all.size(2) - kept, kept)};
}

void causal_conv_shapes(Node& node) {
  const auto rank_three = [&](Slot slot) {
    const std::optional<Dims> dims = input_dims(node, slot);
    QUENCH_CHECK(!dims || dims->size() == 3, node.where(), ": input and weight must have rank 3");
    return dims.value_or(Dims(3));
  };
  const Dims x = rank_three(kInput), weight = rank_three(kWeight);
  const Dim kept = weight[2].is_number() ? Dim(weight[2].number() - 1) : Dim();
  set_type(node, 0, input_dtype(node, kInput), x);
  set_type(node, 1, input_dtype(node, kInput), Dims{x[0], x[1], kept});
}

std::int64_t causal_conv_macs(const Node& node) {
  const std::optional<Dims> x = input_dims(node, kInput), weight = input_dims(node, kWeight);
  if (!x || !weight || weight->size() != 3) return -1;
  const Dim result = product(*x, 0, x->size()) * (*weight)[2];
  return result.is_number() ? result.number() : -1;
}

OpTraits causal_conv_traits() {
  OpTraits traits;
  traits.weight_slot = kWeight;
  traits.bias_slot = kBias;
  traits.weight_axis = [](const Node&) { return 0; };
  traits.parameter_slots = {kWeight, kBias};
  traits.macs = causal_conv_macs;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("CausalConvWithState", causal_conv, causal_conv_shapes, causal_conv_traits(),
                   "depthwise convolution over what came before, and the last inputs")

}  // namespace quench
