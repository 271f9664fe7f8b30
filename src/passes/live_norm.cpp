#include "passes/live_norm.h"

#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

Node* reader_of(const Value& value) {
  Node* user = only_user(value);
  return user && user->input(0) == &value ? user : nullptr;
}

LiveNorm live_norm_at(Node& norm_weight) {
  LiveNorm live;
  live.norm_weight = &norm_weight;
  live.quantizer = only_user(norm_weight.output(0));
  QUENCH_CHECK(is_quantizer(live.quantizer), norm_weight.where(),
               ": its weight must go to one quantizer and nowhere else");
  live.layer = only_user(live.quantizer->output());
  QUENCH_CHECK(live.layer && takes_norm(*live.layer), norm_weight.where(),
               ": its quantized weight must go to one Conv, ConvTranspose or Gemm and nowhere else");
  live.bias_quantizer = bias_quantizer_of(*live.layer);
  if (norm_weight.output(1).uses().empty()) return live;
  Node* next = reader_of(live.layer->output());
  while (next && !is_trainable_norm(*next)) {
    live.between.push_back(next);
    next = reader_of(next->output());
  }
  QUENCH_CHECK(next, norm_weight.where(), ": no BatchNormalization follows its layer '", live.layer->name(), "'");
  live.norm = next;
  return live;
}

}  // namespace

bool is_trainable_norm(const Node& node) {
  return node.op() == "quench.LiveNorm" || (node.op() == "BatchNormalization" && node.get_int("training_mode", 0) == 0);
}

Node* bias_quantizer_of(const Node& layer) {
  Node* producer = layer.input(2) ? layer.input(2)->producer() : nullptr;
  return is_quantizer(producer) || is_bias_quantizer(producer) ? producer : nullptr;
}

std::vector<LiveNorm> find_live_norms(Graph& graph) {
  std::vector<LiveNorm> all;
  for (const auto& node : graph.nodes())
    if (node->op() == "quench.NormWeight") all.push_back(live_norm_at(*node));
  return all;
}

void close_live_norm(Graph& graph, LiveNorm& live) {
  if (!live.norm) return;
  if (!live.bias_quantizer) graph.set_input(*live.layer, 2, &live.norm_weight->output(2));
  const std::string name = live.norm->output().name();
  Value& output = live.layer->output();
  graph.replace_uses(live.norm->output(), output);
  graph.erase(*live.norm);
  for (auto at = live.between.rbegin(); at != live.between.rend(); ++at) {
    Value* operand = (*at)->input(1);
    graph.erase(**at);
    // A Reshape of the bias.
    if (operand && operand->producer() && operand->producer() != live.norm_weight && operand->uses().empty())
      graph.erase(*operand->producer());
  }
  graph.rename(output, name);
  live.between.clear();
  live.norm = nullptr;
}

}  // namespace quench
