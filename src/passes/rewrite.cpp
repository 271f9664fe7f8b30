#include "passes/rewrite.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "quench/op.h"

namespace quench {

bool bypass(Graph& graph, Node& node, Value& source) {
  Value& output = node.output();
  const std::string name = output.name();
  const bool keeps_name = output.is_graph_output();
  if (keeps_name && (!source.producer() || source.is_graph_output())) return false;
  graph.replace_uses(output, source);
  graph.erase(node);
  if (keeps_name) graph.rename(source, name);
  return true;
}

Node* only_user(const Value& value) {
  return value.uses().size() == 1 && !value.is_graph_output() ? value.uses().front().node : nullptr;
}

bool is_made_of_constants(const Value& value) {
  if (value.is_constant()) return true;
  const Node* node = value.producer();
  return node && !entry_of(*node).traits.random &&
         std::all_of(node->inputs().begin(), node->inputs().end(),
                     [](const Value* input) { return !input || is_made_of_constants(*input); });
}

bool takes_norm(const Node& node) {
  static const std::set<std::string> layers = {"Conv", "ConvTranspose", "Gemm", "quench.ConvOfInput"};
  if (!layers.contains(node.op())) return false;
  if (node.op() == "Gemm" && (node.get_float("alpha", 1.0) != 1.0 || node.get_float("beta", 1.0) != 1.0)) return false;
  const Value *weight = node.input(1), *bias = node.input(2);
  if (!weight || !is_made_of_constants(*weight) || !weight->has_rank() || weight->rank() < 2) return false;
  return !bias || (is_made_of_constants(*bias) && bias->has_rank() && bias->rank() == 1);
}

bool is_plain_norm(const Node& node) {
  if (node.op() != "BatchNormalization" || node.get_int("training_mode", 0) != 0 || node.inputs().size() < 5)
    return false;
  for (int slot = 1; slot < 5; ++slot)
    if (!node.input(slot) || !node.input(slot)->is_constant()) return false;
  return std::none_of(node.outputs().begin() + 1, node.outputs().end(), [](const Value* output) { return output; });
}

Value& replace_constant(Graph& graph, Node& user, int slot, const at::Tensor& tensor, const std::string& fresh_name) {
  Value* old = user.input(slot);
  if (old && only_user(*old)) {
    graph.set_tensor(*old, tensor);
    old->set_parameter(false);
    return *old;
  }
  Value& fresh = graph.add_constant(graph.unique_name(fresh_name), tensor);
  graph.set_input(user, slot, &fresh);
  return fresh;
}

}  // namespace quench
