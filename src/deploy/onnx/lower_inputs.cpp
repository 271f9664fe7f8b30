#include "deploy/onnx/lower_inputs.h"

#include <ATen/ATen.h>

#include "graph/edit.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {

std::vector<std::int64_t> constant_integers(const Node& node, int slot, const std::string& what) {
  const auto integers = input_integers(node, slot);
  QUENCH_CHECK(integers, "'", what, "' is an attribute there, so input ", slot, " must be a constant");
  return *integers;
}

double constant_number(const Node& node, int slot, const std::string& what) {
  const Value* value = node.input(slot);
  QUENCH_CHECK(value && value->is_constant() && value->tensor().numel() == 1, "'", what,
               "' is an attribute there, so input ", slot, " must be a constant of one element");
  return value->tensor().to(at::kDouble).item<double>();
}

void integers_to_attr(Graph& graph, Node& node, int slot, const std::string& attr) {
  if (!node.input(slot)) return;
  node.attrs[attr] = constant_integers(node, slot, attr);
  drop_input(graph, node, slot);
}

void number_to_attr(Graph& graph, Node& node, int slot, const std::string& attr) {
  if (!node.input(slot)) return;
  node.attrs[attr] = constant_number(node, slot, attr);
  drop_input(graph, node, slot);
}

}  // namespace quench
