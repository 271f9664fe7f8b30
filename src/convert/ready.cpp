#include "convert/ready.h"

#include <ATen/ATen.h>

#include "convert/quantized.h"
#include "passes/rewrite.h"
#include "quantized/given_quantizers.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

void check_deployable(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    QUENCH_CHECK(node->op() != "quench.Leaf", node->where(),
                 " runs code of its own, which no file can hold: remove it from the model to be deployed");
    if (is_quantizer(node.get()) || is_bias_quantizer(node.get()))
      QUENCH_CHECK(is_on(*node), node->where(), " is switched off: switch it on (enable_quantization)");
  }
}

void drop_stubs(Graph& graph) {
  std::vector<Node*> stubs;
  for (const auto& node : graph.nodes())
    if (node->op() == "quench.QuantStub" || node->op() == "quench.DeQuantStub") stubs.push_back(node.get());
  for (Node* stub : stubs)
    if (!bypass(graph, *stub, *stub->input(0))) {  // straight from an input to an output
      graph.set_op(*stub, "Identity");
      stub->attrs.clear();
    }
}

// A weight that is computed from constants (transposed, normalized) becomes one.
void fold_computed_weights(Graph& graph) {
  std::vector<std::string> names;
  std::vector<Value*> computed;
  for (const Node* node : quantizers_of(graph)) {
    Value* weight = node->input(0);
    if (weight->is_constant() || !is_made_of_constants(*weight)) continue;
    computed.push_back(weight);
    names.push_back(weight->name());
  }
  if (names.empty()) return;
  const NamedValues values = Executor(graph).run({}, names);
  for (Value* weight : computed) {
    const std::string name = weight->name();
    Value& constant = graph.add_constant(graph.unique_name(name + "_folded"), values.at(name).tensor().contiguous());
    graph.replace_uses(*weight, constant);
    graph.rename(*weight, graph.unique_name(name + "_computed"));
    graph.rename(constant, name);
  }
}

}  // namespace

Graph ready_for_deployment(const QuantizedModel& model) {
  verify(model, ModelStage::kCalibrated);
  check_deployable(model.graph);
  Graph graph = with_plan_text(model);
  drop_stubs(graph);
  run_passes(graph, {"fold_live_norms", "eliminate_dead"});
  fold_computed_weights(graph);
  run_passes(graph, {"eliminate_dead", "infer_shapes"});
  for (const Node* node : quantizers_of(graph))
    QUENCH_CHECK(fake_quant_spec(*node).role == Role::kActivation || node->input(0)->is_constant(), node->where(),
                 ": the weight is computed from the data, which no target takes");
  give_outputs_their_names(graph);
  // What was calibrated in 16 bits (a module that trains in them): targets compute in float32 beside their integers.
  if (run_passes(graph, {"widen_to_float32", "infer_shapes"})[0].changes > 0)
    run_passes(graph, {"eliminate_identity", "eliminate_dead"});
  return graph;
}

}  // namespace quench
