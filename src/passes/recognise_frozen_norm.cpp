// recognise_frozen_norm: a Mul and an Add of constants per channel after a layer are a BatchNormalization whose
// statistics were merged into its scale (FrozenBatchNorm, exporters that take it apart). Either alone is enough.
//   before: conv -> Mul(g) -> Add(b) -> users     after: conv -> BatchNormalization(g, b, mean 0, var 1) -> users
// With epsilon 0 it computes x * g + b and nothing else. It is frozen, and folds or stays as any other.
#include <ATen/ATen.h>

#include "ops/norm_weight.h"
#include "passes/rewrite.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {
namespace {

struct Found {
  Node* layer = nullptr;
  Node* mul = nullptr;  // either may be absent
  Node* add = nullptr;
  at::Tensor scale, shift;
};

// The operand beside `from`, as a vector, where it is a constant with one element per channel: [C, 1, 1] or
// [1, C, 1, 1] for an image, [C] or [1, C] for a matrix. Undefined where it is not. What trains is left as it is.
at::Tensor vector_of(const Node& node, const Value& from, std::int64_t channels, std::int64_t rank) {
  if (node.inputs().size() != 2 || node.input(0) == node.input(1)) return {};
  const Value* other = node.input(0) == &from ? node.input(1) : node.input(0);
  if (!other || !other->is_constant() || other->is_parameter() || other->dtype() != DType::kFloat) return {};
  const at::Tensor& tensor = other->tensor();
  if (tensor.dim() > rank || tensor.numel() != channels) return {};
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(tensor.dim()), 1);  // shapes meet at their ends
  const std::int64_t axis = tensor.dim() - (rank - 1);
  if (axis < 0) return {};
  wanted[static_cast<std::size_t>(axis)] = channels;
  return tensor.sizes() == at::IntArrayRef(wanted) ? tensor.detach().reshape({channels}) : at::Tensor();
}

Found find_behind(Node& layer) {
  Found found;
  found.layer = &layer;
  const at::Tensor& weight = layer.input(1)->tensor();
  const std::int64_t channels = channels_of(weight, channel_place(layer)), rank = weight.dim();
  const Value* last = &layer.output();
  Node* user = only_user(*last);
  if (user && user->op() == "Mul") {
    found.scale = vector_of(*user, *last, channels, rank);
    if (!found.scale.defined()) return found;
    found.mul = user;
    last = &user->output();
    user = only_user(*last);
  }
  if (user && user->op() == "Add") {
    found.shift = vector_of(*user, *last, channels, rank);
    if (found.shift.defined()) found.add = user;
  }
  return found;
}

void replace(Graph& graph, const Found& found) {
  Node& last = found.add ? *found.add : *found.mul;
  const at::Tensor& like = found.mul ? found.scale : found.shift;
  const std::string base = found.layer->name() + ".norm";
  const auto constant = [&](const char* name, const at::Tensor& tensor) {
    return &graph.add_constant(graph.unique_name(base + "." + name), tensor);
  };
  Node& bn =
      graph.insert_before(last, "BatchNormalization", graph.unique_name(base),
                          {&found.layer->output(), constant("scale", found.mul ? found.scale : at::ones_like(like)),
                           constant("shift", found.add ? found.shift : at::zeros_like(like)),
                           constant("mean", at::zeros_like(like)), constant("var", at::ones_like(like))});
  bn.attrs["epsilon"] = 0.0;
  bn.frozen = true;
  bn.output().set_type(last.output().type());
  if (found.add && found.mul) bypass(graph, *found.add, found.mul->output());
  bypass(graph, found.mul ? *found.mul : *found.add, bn.output());
}

int recognise_frozen_norm(Graph& graph) {
  std::vector<Found> all;
  for (const auto& node : graph.nodes()) {
    if (!takes_norm(*node) || !node->input(1)->is_constant()) continue;
    Found found = find_behind(*node);
    if (found.mul || found.add) all.push_back(found);
  }
  for (const Found& found : all) replace(graph, found);
  return static_cast<int>(all.size());
}

}  // namespace

QUENCH_REGISTER_PASS("recognise_frozen_norm", recognise_frozen_norm,
                     "Mul and Add of constants per channel after a layer become a frozen BatchNormalization")

}  // namespace quench
