#include "graph/edit.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {

Value& add_integers(Graph& graph, const Node& node, const std::string& suffix,
                    const std::vector<std::int64_t>& values) {
  return graph.add_constant(graph.unique_name(concat(node.name(), "_", suffix)), integer_tensor(values));
}

Value& add_scalar(Graph& graph, const Node& node, const std::string& suffix, double value, DType dtype) {
  const at::Tensor tensor = at::scalar_tensor(value, at::kDouble).to(scalar_type_of(dtype));
  return graph.add_constant(graph.unique_name(concat(node.name(), "_", suffix)), tensor, dtype);
}

void set_optional_input(Graph& graph, Node& node, int slot, Value* value) {
  while (static_cast<int>(node.inputs().size()) < slot)
    graph.set_input(node, static_cast<int>(node.inputs().size()), nullptr);
  graph.set_input(node, slot, value);
}

void drop_input(Graph& graph, Node& node, int slot) {
  std::vector<Value*> inputs = node.inputs();
  if (slot < static_cast<int>(inputs.size())) inputs[static_cast<std::size_t>(slot)] = nullptr;
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  graph.set_inputs(node, inputs);
}

Node& insert_behind(Graph& graph, Node& node, int output, const std::string& op, const std::vector<Value*>& others) {
  Value& made = node.output(output);
  const std::string name = made.name();
  graph.rename(made, graph.unique_name(name + "_raw"));
  std::vector<Value*> inputs{&made};
  inputs.insert(inputs.end(), others.begin(), others.end());
  Node& behind = graph.insert_after(node, op, concat(node.name(), "_", op), inputs);
  graph.replace_uses(made, behind.output());
  graph.rename(behind.output(), name);
  behind.output().set_type(made.type());
  return behind;
}

void unsqueeze_input(Graph& graph, Node& node, int slot, const std::vector<std::int64_t>& axes) {
  Value& value = *node.input(slot);
  if (axes.empty()) return;
  if (value.is_constant() && value.uses().size() == 1 && !value.is_graph_output()) {
    std::vector<std::int64_t> sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    at::Tensor tensor = value.tensor();
    for (const std::int64_t axis : sorted) tensor = tensor.unsqueeze(axis);
    const bool is_parameter = value.is_parameter();
    graph.set_tensor(value, tensor, value.dtype());
    value.set_parameter(is_parameter);
    return;
  }
  Value& where = add_integers(graph, node, "axes", axes);
  Node& unsqueeze = graph.insert_before(node, "Unsqueeze", node.name() + "_Unsqueeze", {&value, &where});
  graph.set_input(node, slot, &unsqueeze.output());
}

}  // namespace quench
