#include "deploy/forms/float32_io.h"

#include <algorithm>

#include "graph/border.h"
#include "passes/rewrite.h"

namespace quench {
namespace {

bool widens(const Value::Use& use) {
  const Value& widened = use.node->output();
  return use.node->op() == "Cast" && widened.dtype() == DType::kFloat && !widened.is_graph_output();
}

bool widen_input(Graph& graph, Value& input) {
  const std::vector<Value::Use> uses = input.uses();
  if (!is_narrow_float(input.dtype()) || input.is_graph_output()) return false;
  if (!std::all_of(uses.begin(), uses.end(), widens)) return false;
  TypeInfo type = input.type();
  type.dtype = DType::kFloat;
  input.set_type(type);
  for (const Value::Use& use : uses) {
    graph.replace_uses(use.node->output(), input);
    graph.erase(*use.node);
  }
  return true;
}

bool widen_output(Graph& graph, const Value& output) {
  if (!is_narrow_float(output.dtype()) || source_of_output(output).dtype() != DType::kFloat) return false;
  Node& cast = *output.producer();
  return bypass(graph, cast, *cast.input(0));
}

}  // namespace

std::vector<std::string> use_float32_io(Graph& graph) {
  std::vector<std::string> changed;
  for (Value* input : graph.inputs())
    if (widen_input(graph, *input)) changed.push_back(input->name());
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    if (widen_output(graph, *graph.outputs()[i])) changed.push_back(graph.outputs()[i]->name());
  return changed;
}

}  // namespace quench
