#include "quantized/given_quantizers.h"

#include <ATen/ATen.h>

#include "quantized/spelling.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// Deployment gave the quantizer of an output y the name y, and what it reads another.
void restore_output_name(Graph& graph, const std::string& name) {
  const auto renamed = graph.metadata.find(kFloatOutputKey + name);
  if (renamed == graph.metadata.end()) return;
  Value* output = graph.find_value(name);
  Node* node = output ? output->producer() : nullptr;
  if (!is_quantizer(node) || !output->is_graph_output()) return;
  Value& inner = *node->input(0);
  if (inner.name() != renamed->second || graph.find_value(quantizer_name(name))) return;
  graph.metadata.erase(renamed);
  graph.rename(*output, quantizer_name(name));
  const std::string before = inner.name();
  graph.rename(inner, name);
  for (Value* state : node->inputs())
    if (state != &inner && quantized_value(state->name()) == before)
      graph.rename(*state, name + state->name().substr(before.size()));
}

// Whether every zero point and (of a constant, where codes are seen) every code of the one is a code of the other.
bool fits(const QScheme& wanted, const Node& node) {
  FakeQuantSpec spec = fake_quant_spec(node);
  const QScheme found = spec.scheme;
  if (wanted.format() != found.format() || wanted.granularity() != found.granularity() ||
      wanted.is_signed() != found.is_signed() || wanted.bits() > found.bits() || wanted.qmin() < found.qmin())
    return false;
  if (!wanted.per_tensor() && (wanted.axis() != found.axis() || wanted.group() != found.group())) return false;
  const at::Tensor zero = node.input(2)->tensor();
  if (wanted.symmetric() && zero.any().item<bool>()) return false;
  if (!node.input(0)->is_constant()) return true;
  spec.scheme = wanted;
  const FakeQuantTensors tensors = fake_quant_tensors(node);
  const FakeQuantRun run{{.quantize = true}, nullptr, {}, false};
  const at::Tensor& weight = node.input(0)->tensor();
  return at::equal(run_fake_quant(*fake_quant_of(node), weight, tensors, run),
                   run_fake_quant(*make_fake_quant(spec), weight, tensors, run));
}

void set_scheme(Node& quantizer, const QScheme& scheme) {
  FakeQuantSpec spec = fake_quant_spec(quantizer);
  spec.scheme = scheme;
  set_fake_quant_spec(quantizer, spec);
}

// Biases whose scales derive from quantizers that are there.
std::vector<PlanEntry> bias_entries(const Graph& graph, const QuantPlan& written) {
  std::vector<PlanEntry> entries;
  for (const PlanEntry& entry : written.entries)
    if (!entry.derived_from.empty() && graph.find_value(entry.value) && quantizer_of(graph, entry.derived_from[0]) &&
        quantizer_of(graph, entry.derived_from[1]))
      entries.push_back(entry);
  return entries;
}

}  // namespace

void restore_schemes(Graph& graph, const QuantPlan& plan) {
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.derived_from.empty()) continue;
    if (entry.role == Role::kActivation) restore_output_name(graph, entry.value);
    Value* value = graph.find_value(entry.value);
    if (!value) continue;
    for (const Value::Use& use : value->uses())
      if (use.slot == 0 && is_quantizer(use.node) && fits(entry.scheme, *use.node)) set_scheme(*use.node, entry.scheme);
  }
}

QuantPlan plan_of_quantizers(const Graph& graph, QuantPlan written) {
  std::vector<PlanEntry> entries;
  written.by = QuantizeBy::kDivision;  // as QuantizeLinear does
  for (const Node* node : quantizers_of(graph)) {
    const FakeQuantSpec spec = fake_quant_spec(*node);
    const PlanEntry* known = written.find(node->input(0)->name());
    PlanEntry& entry = entries.emplace_back();
    entry.value = node->input(0)->name();
    entry.role = spec.role;
    entry.scheme = spec.scheme;
    entry.observer = kNoObserver;
    entry.fake_quant = spec.algorithm;
    entry.fake_quant_options = spec.options;
    entry.rule = known ? known->rule : "the model came with it";
    written.by = spec.by;
  }
  for (PlanEntry& bias : bias_entries(graph, written)) entries.push_back(std::move(bias));
  written.entries = std::move(entries);
  return written;
}

void give_outputs_their_names(Graph& graph) {
  for (Value* output : graph.outputs()) {
    const Node* node = output->producer();
    if (!is_quantizer(node) || output->name() != quantizer_name(node->input(0)->name())) continue;
    Value& inner = *node->input(0);
    if (inner.is_input() || inner.is_graph_output()) continue;
    const std::string name = inner.name();
    graph.rename(inner, graph.unique_name(name + "_float"));
    graph.rename(*output, name);
    graph.metadata[kFloatOutputKey + name] = inner.name();
  }
}

}  // namespace quench
