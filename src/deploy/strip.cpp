#include "deploy/strip.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "deploy/quantized.h"
#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/pass.h"

namespace quench {
namespace {

void bake(Graph& graph, std::vector<StrippedTensor>& tensors) {
  const std::map<std::string, at::Tensor> baked = baked_constants(graph);
  for (Node* node : bias_quantizers_of(graph)) replace_by_baked(graph, *node, baked.at(node->output().name()));
  for (Node* node : quantizers_of(graph)) {
    if (!node->input(0)->is_constant()) continue;
    const FakeQuantSpec spec = fake_quant_spec(*node);
    const QType type = qtype_of(*node);
    const Value& constant = replace_by_baked(graph, *node, baked.at(node->output().name()));
    tensors.push_back({constant.name(), spec.role, type});
  }
}

void drop_activation_quantizers(Graph& graph, std::vector<StrippedTensor>& tensors) {
  for (Node* node : quantizers_of(graph)) {
    const QType type = qtype_of(*node);
    Value& source = *node->input(0);
    if (!bypass(graph, *node, source)) {  // an output that is an input, or a second name of another output
      graph.set_op(*node, "Identity");
      graph.set_inputs(*node, {&source});
      node->attrs.clear();
      node->metadata.clear();
    }
    tensors.push_back({source.name(), Role::kActivation, type});
  }
}

void drop_empty_pads(Graph& graph) {
  std::vector<Node*> pads;
  for (const auto& node : graph.nodes())
    if (node->op() == "Pad" && node->input(1) && node->input(1)->is_constant() &&
        !node->input(1)->tensor().any().item<bool>())
      pads.push_back(node.get());
  for (Node* pad : pads) bypass(graph, *pad, *pad->input(0));
}

// In order of the graph: inputs, then what each node reads for the first time or makes.
std::vector<StrippedTensor> in_order(const Graph& graph, const std::vector<StrippedTensor>& tensors) {
  std::vector<StrippedTensor> result;
  const auto take = [&](const Value* value) {
    if (!value) return;
    const auto is_it = [&](const StrippedTensor& one) { return one.name == value->name(); };
    if (std::any_of(result.begin(), result.end(), is_it)) return;
    const auto found = std::find_if(tensors.begin(), tensors.end(), is_it);
    if (found != tensors.end()) result.push_back(*found);
  };
  for (const Value* input : graph.inputs()) take(input);
  for (const auto& node : graph.nodes()) {
    for (const Value* input : node->inputs()) take(input);
    for (const Value* output : node->outputs()) take(output);
  }
  return result;
}

}  // namespace

const StrippedTensor* StrippedModel::find(const std::string& name) const {
  for (const StrippedTensor& one : tensors)
    if (one.name == name) return &one;
  return nullptr;
}

Value& replace_by_baked(Graph& graph, Node& quantizer, const at::Tensor& value) {
  Value& source = *quantizer.input(0);
  const std::string name = source.name();
  Value& constant = graph.add_constant(graph.unique_name(name + "_quantized"), value);
  graph.replace_uses(quantizer.output(), constant);
  graph.erase(quantizer);
  if (source.uses().empty() && !source.is_graph_output()) {
    graph.erase(source);
    graph.rename(constant, name);
  }
  return constant;
}

StrippedModel strip_quantizers(const Graph& ready) {
  StrippedModel model{ready, {}};
  std::vector<StrippedTensor> tensors;
  bake(model.graph, tensors);
  drop_activation_quantizers(model.graph, tensors);
  drop_empty_pads(model.graph);
  run_passes(model.graph, {"eliminate_dead"});
  model.graph.metadata.erase("quench.plan");  // it speaks of quantizers that are not there
  model.tensors = in_order(model.graph, tensors);
  return model;
}

}  // namespace quench
