// fuse_live_norms: what make_norms_live puts behind a layer becomes one operator (ops/live_norm.cpp): for running what
// trains, not for folding, freezing or exporting it.
//   before: layer [-> Sub c] -> Div k [-> Add b] -> BatchNormalization -> users
//   after:  layer -> quench.LiveNorm(k, b, c) -> users
#include "passes/live_norm.h"
#include "quench/pass.h"

namespace quench {
namespace {

// The operand of a step between the layer and its norm, before the Reshape that lets it broadcast. Null if there is no
// such step.
Value* operand_of(const LiveNorm& live, const char* op) {
  for (const Node* step : live.between) {
    if (step->op() != op) continue;
    const Node* reshape = step->input(1)->producer();
    return reshape && reshape->op() == "Reshape" ? reshape->input(0) : step->input(1);
  }
  return nullptr;
}

// What make_norms_live makes, and nothing else.
bool matches(const LiveNorm& live) {
  if (!live.norm || live.norm->op() != "BatchNormalization") return false;
  std::string ops;
  for (const Node* step : live.between) ops += step->op() + " ";
  return (ops == "Div " || ops == "Div Add " || ops == "Sub Div " || ops == "Sub Div Add ") &&
         operand_of(live, "Div") == &live.norm_weight->output(1);
}

void fuse(Graph& graph, const LiveNorm& live) {
  Node& norm = *live.norm;
  std::vector<Value*> inputs = norm.inputs();
  inputs[0] = &live.layer->output();
  inputs.insert(inputs.end(), {operand_of(live, "Div"), operand_of(live, "Add"), operand_of(live, "Sub")});
  while (!inputs.back()) inputs.pop_back();
  graph.set_op(norm, "quench.LiveNorm");
  graph.set_inputs(norm, inputs);
  std::vector<Value*> operands;
  for (auto step = live.between.rbegin(); step != live.between.rend(); ++step) {
    operands.push_back((*step)->input(1));
    graph.erase(**step);
  }
  for (const Value* operand : operands)
    if (operand->uses().empty() && operand->producer() && operand->producer()->op() == "Reshape")
      graph.erase(*operand->producer());
}

int fuse_live_norms(Graph& graph) {
  int changes = 0;
  for (const LiveNorm& live : find_live_norms(graph)) {
    if (!matches(live)) continue;
    fuse(graph, live);
    ++changes;
  }
  return changes;
}

}  // namespace

QUENCH_REGISTER_PASS("fuse_live_norms", fuse_live_norms,
                     "a live BatchNormalization with the division in front of it in one operator: for running training")

}  // namespace quench
