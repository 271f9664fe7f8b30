#include "passes/rewrite.h"

#include <ATen/ATen.h>

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
