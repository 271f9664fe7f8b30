// make_norms_live: after insert_quantizers, lets the quantizer of a weight see what the BatchNormalization after the
// layer will make of it, while that still trains (docs/numerics.md 8.2; 8.4 where the bias has a quantizer).
//   before: W -> FakeQuant -> conv(b) -> bn -> users
//   after:  W, gamma, var -> NormWeight -> FakeQuant -> conv -> Div k -> Add b -> bn -> users
// A frozen one becomes a single convolution, FQ(W * k) with the folded bias. The quantizer's node, its constants and
// its axis stay as they are. freeze_norms: every BatchNormalization to its running statistics for good (8.3), live ones
// included. A weight that several layers share keeps its BatchNormalizations apart: each would scale it in another way.
#include <ATen/ATen.h>

#include "ops/norm_weight.h"
#include "passes/live_norm.h"
#include "passes/rewrite.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// The layer that `bn` follows, if its weight has a quantizer of its own and nothing else reads what lies between.
Node* layer_before(const Node& bn) {
  Node* layer = is_plain_norm(bn) && bn.input(0) ? bn.input(0)->producer() : nullptr;
  if (!layer || !takes_norm(*layer) || !only_user(layer->output())) return nullptr;
  const Node* quantizer = layer->input(1)->producer();
  if (!is_quantizer(quantizer) || !only_user(quantizer->output())) return nullptr;
  const Node* bias = bias_quantizer_of(*layer);
  return bias && !only_user(bias->output()) ? nullptr : layer;
}

Node& add_norm_weight(Graph& graph, const Node& layer, Node& quantizer, const Node& bn, Value* bias) {
  Node& node = graph.insert_before(quantizer, "quench.NormWeight", graph.unique_name(layer.name() + ".norm_weight"),
                                   {quantizer.input(0), bn.input(1), bn.input(4), bn.input(3), bn.input(2), bias}, 3);
  if (!bias) graph.set_inputs(node, {node.inputs().begin(), node.inputs().end() - 1});
  const ChannelPlace place = channel_place(layer);
  node.attrs["epsilon"] = bn.get_float("epsilon", 1e-5);
  node.attrs["momentum"] = bn.get_float("momentum", 0.9);  // for code that thaws a frozen one
  node.attrs["axis"] = std::int64_t{place.axis};
  node.attrs["group"] = place.group;
  node.attrs["guard"] = std::int64_t{1};
  node.output(0).set_type(quantizer.input(0)->type());
  node.output(2).set_type(bn.input(1)->type());
  return node;
}

// `value`, one element per channel, shaped for data of this rank with its channels in dim 1.
Value& per_channel(Graph& graph, Node& before, Value& value, int rank) {
  if (rank == 2) return value;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
  shape[1] = -1;
  const std::string name = graph.unique_name(before.name() + "." + value.name());
  Value& constant = graph.add_constant(graph.unique_name(name + ".shape"), at::tensor(shape));
  return graph.insert_before(before, "Reshape", name, {&value, &constant}).output();
}

Value& insert_step(Graph& graph, Node& bn, const char* op, Value& data, Value& operand) {
  const std::string name = graph.unique_name(concat(bn.name(), ".", op));
  Node& node = graph.insert_before(bn, op, name, {&data, &operand});
  node.output().set_type(data.type());
  return node.output();
}

void open(Graph& graph, Node& layer, Node& bn) {
  Node& quantizer = *layer.input(1)->producer();
  Node* bias_quantizer = bias_quantizer_of(layer);
  Value* bias = bias_quantizer ? bias_quantizer->input(0) : layer.input(2);
  const int rank = layer.input(1)->rank();
  Node& norm_weight = add_norm_weight(graph, layer, quantizer, bn, bias);
  graph.set_input(quantizer, 0, &norm_weight.output(0));
  Value* data = &layer.output();
  if (bias_quantizer) {
    Value& folded = norm_weight.output(2);
    graph.set_input(*bias_quantizer, 0, &folded);
    data = &insert_step(graph, bn, "Sub", *data, per_channel(graph, bn, folded, rank));
  } else {
    graph.set_inputs(layer, {layer.input(0), layer.input(1)});
  }
  data = &insert_step(graph, bn, "Div", *data, norm_weight.output(1));
  if (bias) data = &insert_step(graph, bn, "Add", *data, per_channel(graph, bn, *bias, rank));
  graph.set_input(bn, 0, data);
}

int freeze(Graph& graph) {
  int changes = 0;
  for (const auto& node : graph.nodes()) {
    if (!is_trainable_norm(*node) || node->frozen) continue;
    node->frozen = true;
    ++changes;
  }
  return changes;
}

void close_frozen(Graph& graph) {
  for (LiveNorm& live : find_live_norms(graph)) {
    if (!live.norm || !live.norm->frozen) continue;
    close_live_norm(graph, live);
    live.norm_weight->attrs["guard"] = std::int64_t{0};  // nothing is divided any more
  }
}

int make_norms_live(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (layer_before(*node)) found.push_back(node.get());
  for (Node* bn : found) open(graph, *layer_before(*bn), *bn);
  graph.sort();
  close_frozen(graph);
  return static_cast<int>(found.size());
}

int freeze_norms(Graph& graph) {
  const int changes = freeze(graph);
  close_frozen(graph);
  return changes;
}

}  // namespace

QUENCH_REGISTER_PASS("make_norms_live", make_norms_live,
                     "quantizers of weights see them as the following BatchNormalization will scale them: for training")
QUENCH_REGISTER_PASS("freeze_norms", freeze_norms, "every BatchNormalization keeps its running statistics for good")

}  // namespace quench
