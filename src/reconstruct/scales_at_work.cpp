#include "reconstruct/scales_at_work.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "quant/scale_rule.h"

namespace quench {
namespace {

// QDrop's quantizer is the plain affine one with a scale that learns: it can stand for these.
bool is_affine(const FakeQuantSpec& spec) {
  return spec.scheme.is_int() && (spec.algorithm == "fixed" || spec.algorithm == "qdrop" || spec.algorithm == "lsq");
}

// Other quantizers that read the scale are of this unit; biases in int32 follow it wherever they are.
bool is_own(const Value& scale, const std::vector<Node*>& quantizers) {
  return std::all_of(scale.uses().begin(), scale.uses().end(), [&](const Value::Use& use) {
    return is_bias_quantizer(use.node) || std::find(quantizers.begin(), quantizers.end(), use.node) != quantizers.end();
  });
}

bool contains(const Tensors& tensors, const at::Tensor& one) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const at::Tensor& other) { return other.is_same(one); });
}

}  // namespace

bool scale_may_learn(const Node& quantizer, const std::vector<Node*>& together) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  return is_affine(spec) && !spec.scheme.power_of_two_scale() && is_own(*quantizer.input(1), together);
}

ScalesAtWork::ScalesAtWork(const std::vector<Node*>& quantizers, double prob, bool learn) {
  for (Node* node : quantizers) {
    const FakeQuantSpec spec = fake_quant_spec(*node);
    if (!is_affine(spec)) continue;
    const bool may_learn = scale_may_learn(*node, quantizers);
    FakeQuantSpec dropping = spec;
    dropping.algorithm = "qdrop";
    dropping.options = Options{{"prob", prob}};
    set_fake_quant_spec(*node, dropping);
    before_.push_back({node, spec});
    at::Tensor scale = node->input(1)->tensor();
    if (contains(tensors_, scale)) continue;  // another quantizer of the unit shares it: it learns already
    scale.set_requires_grad(learn && may_learn);
    if (!learn || !may_learn) continue;
    tensors_.push_back(scale);
    began_.push_back(scale.detach().clone());
  }
}

void ScalesAtWork::undo() {
  const c10::AutoGradMode no_grad(false);
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(began_[i]);
}

ScalesAtWork::~ScalesAtWork() {
  const c10::AutoGradMode no_grad(false);
  for (at::Tensor& scale : tensors_) {
    scale.set_requires_grad(false);
    scale.abs_().clamp_min_(kScaleFloor);
    scale.mutable_grad().reset();
  }
  for (const Before& one : before_) set_fake_quant_spec(*one.node, one.spec);
}

}  // namespace quench
