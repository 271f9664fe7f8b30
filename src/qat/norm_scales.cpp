#include "qat/norm_scales.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "ops/norm_weight.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

using Tensors = std::vector<at::Tensor>;

// But for the bias of the layer, which goes by the same scale.
bool belongs_to(const Value& scale, const Node& quantizer) {
  return std::all_of(scale.uses().begin(), scale.uses().end(),
                     [&](const Value::Use& use) { return use.node == &quantizer || is_bias_quantizer(use.node); });
}

// Whether its scale alone says how the weight is quantized, in proportion to it, channel by channel of this axis.
bool may_follow(const Node& quantizer, std::int64_t axis) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  const Value& weight = *quantizer.input(0);
  const bool per_channel = spec.scheme.granularity() == Granularity::kChannel && weight.has_rank() &&
                           spec.scheme.axis_of(weight.rank()) == axis;
  if (!per_channel || !spec.scheme.is_int() || spec.scheme.power_of_two_scale()) return false;
  const at::Tensor probe = at::zeros({1});
  return params_of(spec).size() == 2 && fake_quant_of(quantizer)->transform(probe).is_same(probe) &&
         belongs_to(*quantizer.input(1), quantizer);
}

at::Tensor flat(const at::Tensor& tensor) { return tensor.detach().view({-1}); }

}  // namespace

NormScales::NormScales(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op() != "quench.NormWeight" || node->get_int("group", 1) != 1) continue;
    for (const Value::Use& use : node->output(0).uses()) {
      if (!is_quantizer(use.node) || use.slot != 0 || !may_follow(*use.node, node->get_int("axis", 0))) continue;
      const Value *gamma = node->input(1), *variance = node->input(2), *scale = use.node->input(1);
      if (!gamma->is_constant() || !variance->is_constant() || scale->tensor().numel() != gamma->tensor().numel())
        continue;
      all_.push_back({gamma, variance, scale, node->get_float("epsilon", 1e-5)});
    }
  }
  begin();
}

Tensors NormScales::factors() const {
  Tensors factors, deviations;
  std::vector<at::Scalar> epsilons;
  for (const One& one : all_) {
    factors.push_back(flat(one.gamma->tensor()));
    deviations.push_back(flat(one.variance->tensor()));
    epsilons.emplace_back(one.epsilon);
  }
  deviations = at::_foreach_add(deviations, epsilons);
  at::_foreach_sqrt_(deviations);
  factors = at::_foreach_abs(factors);
  at::_foreach_div_(factors, deviations);
  at::_foreach_clamp_min_(factors, kLeastNormFactor);  // as W * k has it
  return factors;
}

void NormScales::begin() {
  const c10::NoGradGuard no_grad;
  if (!all_.empty()) before_ = factors();
}

void NormScales::follow() {
  if (all_.empty()) return;
  const c10::NoGradGuard no_grad;
  const Tensors now = factors();
  Tensors scales;
  for (const One& one : all_) scales.push_back(flat(one.scale->tensor()));
  at::_foreach_mul_(scales, at::_foreach_div(now, before_));
  at::_foreach_copy_(before_, now);
}

}  // namespace quench
