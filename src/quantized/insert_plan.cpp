// Carries out a QuantPlan.
//   before: conv -> users            after: conv -> conv.fq (a quantizer) -> users
// Values that share a scale have quantizers with the same constants. A bias in int32 gets one that reads the scales of
// the layer's input and weight.
#include "quantized/insert_plan.h"

#include <algorithm>

#include "quench/error.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// A node that does not read a weight as a weight (a Gather beside the Gemm with the same table) goes on reading it
// unquantized.
void reconnect_others(Graph& graph, const std::vector<std::string>& ops, Value& weight, Node& quantizer) {
  const std::vector<Value::Use> uses = quantizer.output().uses();
  const auto is_weight = [&](const Value::Use& use) {
    return use.slot == entry_of(*use.node).traits.weight_slot &&
           std::find(ops.begin(), ops.end(), use.node->op()) != ops.end();
  };
  if (std::none_of(uses.begin(), uses.end(), is_weight)) return;  // a platform's own idea of a weight
  for (const Value::Use& use : uses)
    if (!is_weight(use)) graph.set_input(*use.node, use.slot, &weight);
}

// An input or a constant that is also an output of the network goes out unchanged.
void keep_outputs(Graph& graph, Value& value, const Node& quantizer) {
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i] == &quantizer.output()) graph.set_output(static_cast<int>(i), value);
}

void insert_one(Graph& graph, QuantizeBy by, const std::vector<std::string>& weighted, const PlanEntry& entry) {
  Value& value = graph.value(entry.value);
  Node& node = insert_fake_quant(graph, value, fake_quant_spec(entry, by));
  if (!value.producer()) keep_outputs(graph, value, node);
  if (entry.role == Role::kWeight) reconnect_others(graph, weighted, value, node);
  if (entry.shared_with.empty()) return;
  const Node* leader = quantizer_of(graph, entry.shared_with);
  QUENCH_CHECK(leader, "'", entry.shared_with, "' has no quantizer to share");
  QUENCH_CHECK(leader->inputs().size() == node.inputs().size(), "'", entry.shared_with,
               "' has a quantizer of another kind: it cannot be shared");
  for (int slot = 1; slot < static_cast<int>(node.inputs().size()); ++slot) {
    Value* own = node.input(slot);
    graph.set_input(node, slot, leader->input(slot));
    graph.erase(*own);
  }
}

// The layer that reads the bias together with the quantized values that its scale derives from.
Node* layer_of_bias(const Value& bias, const Node& x, const Node& w) {
  for (const Value::Use& use : bias.uses()) {
    const std::vector<Value*>& inputs = use.node->inputs();
    if (inputs.size() > 2 && inputs[0] == &x.output() && inputs[1] == &w.output()) return use.node;
  }
  return nullptr;
}

void insert_bias(Graph& graph, const PlanEntry& entry) {
  const Node* x = quantizer_of(graph, entry.derived_from[0]);
  const Node* w = quantizer_of(graph, entry.derived_from[1]);
  QUENCH_CHECK(x && w, "'", entry.derived_from[x ? 1 : 0], "' has no quantizer to derive from");
  Value& bias = graph.value(entry.value);
  Node* layer = layer_of_bias(bias, *x, *w);
  QUENCH_CHECK(layer, "no layer reads it together with '", entry.derived_from[0], "' and '", entry.derived_from[1],
               "'");
  insert_bias_quantizer(graph, *layer, 2, bias, *x, *w, false);
}

void insert_all(Graph& graph, const QuantPlan& plan, const std::vector<std::string>& weighted) {
  const auto each = [&](auto&& wanted, auto&& body) {
    for (const PlanEntry& entry : plan.entries)
      if (wanted(entry))
        with_context([&] { return concat("for the plan's entry of '", entry.value, "'"); }, [&] { body(entry); });
  };
  const auto leads = [](const PlanEntry& entry) { return entry.derived_from.empty() && entry.shared_with.empty(); };
  const auto follows = [](const PlanEntry& entry) { return !entry.shared_with.empty(); };
  const auto derives = [](const PlanEntry& entry) { return !entry.derived_from.empty(); };
  each(leads, [&](const PlanEntry& entry) { insert_one(graph, plan.by, weighted, entry); });
  each(follows, [&](const PlanEntry& entry) { insert_one(graph, plan.by, weighted, entry); });
  each(derives, [&](const PlanEntry& entry) { insert_bias(graph, entry); });
}

}  // namespace

void insert_plan(Graph& graph, const QuantPlan& plan, const std::vector<std::string>& weighted) {
  Graph result(graph);  // tensors are shared: cheap
  insert_all(result, plan, weighted);
  result.sort();
  result.verify();
  graph = std::move(result);
}

}  // namespace quench
