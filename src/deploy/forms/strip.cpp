#include "deploy/forms/strip.h"

#include <ATen/ATen.h>

#include <map>
#include <set>

#include "convert/quantized.h"
#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/pass.h"
#include "quench/quantized_model.h"
#include "quench/side_file.h"

namespace quench {
namespace {

// A tensor that was quantized, while names may still change.
struct Found {
  const Value* value;
  StrippedTensor tensor;
};

std::map<std::string, std::vector<float>> own_numbers(const Node& quantizer, const FakeQuantSpec& spec) {
  std::map<std::string, std::vector<float>> numbers;
  const std::vector<FakeQuantParam> params = params_of(spec);
  const FakeQuantTensors tensors = fake_quant_tensors(quantizer);
  for (std::size_t i = 2; i < params.size(); ++i) {
    if (params[i].shape == ParamShape::kInput) continue;
    const at::Tensor flat = tensors.all.at(i).detach().to(at::kCPU, at::kFloat).reshape(-1).contiguous();
    numbers[params[i].name].assign(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
  }
  return numbers;
}

StrippedTensor described(const Node& quantizer, Role role) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  return {"", role, qtype_of(quantizer), spec.algorithm, own_numbers(quantizer, spec)};
}

void bake(Graph& graph, std::vector<Found>& found) {
  const std::map<std::string, at::Tensor> baked = baked_constants(graph);
  for (Node* node : bias_quantizers_of(graph)) replace_by_baked(graph, *node, baked.at(node->output().name()));
  for (Node* node : quantizers_of(graph)) {
    if (!node->input(0)->is_constant()) continue;
    StrippedTensor tensor = described(*node, fake_quant_spec(*node).role);
    const Value& constant = replace_by_baked(graph, *node, baked.at(node->output().name()));
    found.push_back({&constant, std::move(tensor)});
  }
}

void drop_activation_quantizers(Graph& graph, std::vector<Found>& found) {
  for (Node* node : quantizers_of(graph)) {
    StrippedTensor tensor = described(*node, Role::kActivation);
    Value& source = *node->input(0);
    if (!bypass(graph, *node, source)) {  // an output that is an input, or a second name of another output
      graph.set_op(*node, "Identity");
      graph.set_inputs(*node, {&source});
      node->attrs.clear();
      node->metadata.clear();
    }
    found.push_back({&source, std::move(tensor)});
  }
}

// In order of the graph: inputs, then what each node reads for the first time or makes.
std::vector<const Value*> values_in_order(const Graph& graph) {
  std::vector<const Value*> result;
  std::set<const Value*> seen;
  const auto take = [&](const Value* value) {
    if (value && seen.insert(value).second) result.push_back(value);
  };
  for (const Value* input : graph.inputs()) take(input);
  for (const auto& node : graph.nodes()) {
    for (const Value* input : node->inputs()) take(input);
    for (const Value* output : node->outputs()) take(output);
  }
  return result;
}

std::vector<StrippedTensor> in_order(const Graph& graph, const std::map<std::string, StrippedTensor>& tensors) {
  std::vector<StrippedTensor> result;
  for (const Value* value : values_in_order(graph))
    if (const auto at = tensors.find(value->name()); at != tensors.end()) result.push_back(at->second);
  return result;
}

std::map<std::string, StrippedTensor> by_name(const std::vector<Found>& found) {
  std::map<std::string, StrippedTensor> tensors;
  for (const Found& one : found) {
    StrippedTensor tensor = one.tensor;
    tensor.name = one.value->name();
    tensors.try_emplace(tensor.name, std::move(tensor));
  }
  return tensors;
}

using HasRange = std::function<bool(const std::string&)>;

// The first tensor with a range that stands for the node's input: behind it, and behind others that only move elements
// about. Null where there is none. A Resize of any mode counts as one here, and a Transpose does not, as in MQBench.
const Value* range_behind(const Node& node, const HasRange& has_range) {
  static const std::set<std::string> movers = {"Flatten", "Resize", "Reshape"};
  if (!movers.contains(node.op())) return nullptr;
  if (has_range(node.output().name())) return &node.output();
  const auto& uses = node.output().uses();
  return uses.empty() || uses.front().slot != 0 ? nullptr : range_behind(*uses.front().node, has_range);
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

void bake_source(Graph& graph, Node& quantizer, const at::Tensor& value) {
  Value& source = *quantizer.input(0);
  if (source.uses().size() == 1 && !source.is_graph_output()) return graph.set_tensor(source, value);
  graph.set_input(quantizer, 0, &graph.add_constant(graph.unique_name(source.name() + "_quantized"), value));
}

void drop_empty_pads(Graph& graph) {
  std::vector<Node*> pads;
  for (const auto& node : graph.nodes())
    if (node->op() == "Pad" && node->input(1) && node->input(1)->is_constant() &&
        !node->input(1)->tensor().any().item<bool>())
      pads.push_back(node.get());
  for (Node* pad : pads) bypass(graph, *pad, *pad->input(0));
}

StrippedModel strip_quantizers(const Graph& ready) {
  StrippedModel model{ready, {}};
  std::vector<Found> found;
  drop_empty_pads(model.graph);
  bake(model.graph, found);
  drop_activation_quantizers(model.graph, found);
  const std::map<std::string, StrippedTensor> tensors = by_name(found);
  run_passes(model.graph, {"eliminate_dead"});
  drop_plan_text(model.graph);  // it mentions quantizers that are gone
  model.tensors = in_order(model.graph, tensors);
  return model;
}

void add_tensor(StrippedModel& model, StrippedTensor tensor) {
  std::map<std::string, StrippedTensor> tensors;
  for (const StrippedTensor& one : model.tensors) tensors.emplace(one.name, one);
  const std::string name = tensor.name;
  tensors.insert_or_assign(name, std::move(tensor));
  model.tensors = in_order(model.graph, tensors);
}

std::map<std::string, std::string> ranges_found_behind(const Graph& graph, const HasRange& has_range) {
  std::map<std::string, std::string> found;
  for (const auto& node : graph.nodes())
    if (const Value* behind = range_behind(*node, has_range); behind && !has_range(node->input(0)->name()))
      found[node->input(0)->name()] = behind->name();
  return found;
}

void pass_ranges_back(StrippedModel& model) {
  for (const auto& [to, from] :
       ranges_found_behind(model.graph, [&](const std::string& name) { return model.find(name) != nullptr; })) {
    StrippedTensor copy = *model.find(from);
    copy.name = to;
    add_tensor(model, std::move(copy));
  }
}

}  // namespace quench
