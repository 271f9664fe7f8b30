#include "quantized/restore_schemes.h"

#include <ATen/ATen.h>

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
  if (inner.name() != renamed->second || graph.find_value(name + ".fq")) return;
  graph.metadata.erase(renamed);
  graph.rename(*output, name + ".fq");
  const std::string before = inner.name();
  graph.rename(inner, name);
  for (Value* state : node->inputs())
    if (state != &inner && state->name().starts_with(before + ".fq."))
      graph.rename(*state, name + state->name().substr(before.size()));
}

// Whether every zero point and (of a constant, where codes are seen) every code of the one is a code of the other.
bool fits(const QScheme& wanted, const Node& node) {
  const QScheme found = fake_quant_spec(node).scheme;
  if (wanted.format() != found.format() || wanted.granularity() != found.granularity() ||
      wanted.is_signed() != found.is_signed() || wanted.bits() > found.bits() || wanted.qmin() < found.qmin())
    return false;
  if (!wanted.per_tensor() && (wanted.axis() != found.axis() || wanted.group() != found.group())) return false;
  const at::Tensor zero = node.input(2)->tensor();
  if (wanted.symmetric() && zero.any().item<bool>()) return false;
  if (!node.input(0)->is_constant()) return true;
  const auto algorithm = make_fake_quant(fake_quant_spec(node));
  FakeQuantSpec spec = fake_quant_spec(node);
  spec.scheme = wanted;
  const FakeQuantTensors tensors = fake_quant_tensors(node);
  const FakeQuantRun run{{.quantize = true}, nullptr, {}, false};
  const at::Tensor& weight = node.input(0)->tensor();
  return at::equal(run_fake_quant(*algorithm, weight, tensors, run),
                   run_fake_quant(*make_fake_quant(spec), weight, tensors, run));
}

}  // namespace

void restore_schemes(Graph& graph, const QuantPlan& plan) {
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.derived_from.empty()) continue;
    if (entry.role == Role::kActivation) restore_output_name(graph, entry.value);
    Value* value = graph.find_value(entry.value);
    if (!value) continue;
    for (const Value::Use& use : value->uses())
      if (use.slot == 0 && is_quantizer(use.node) && fits(entry.scheme, *use.node))
        set_scheme_of(*use.node, entry.scheme);
  }
}

}  // namespace quench
