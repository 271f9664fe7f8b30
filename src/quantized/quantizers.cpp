#include "quench/quantizers.h"

#include <ATen/ATen.h>

#include <string_view>

#include "quantized/spelling.h"
#include "quench/error.h"

namespace quench {
namespace {

std::vector<Node*> nodes_of(const Graph& graph, bool (*wanted)(const Node*)) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (wanted(node.get())) found.push_back(node.get());
  return found;
}

void take_out(Graph& graph, Node& quantizer) {
  const std::vector<Value*> inputs = quantizer.inputs();
  graph.replace_uses(quantizer.output(), *inputs[0]);
  graph.erase(quantizer);
  for (std::size_t slot = 1; slot < inputs.size(); ++slot)
    if (inputs[slot] && inputs[slot]->is_constant() && inputs[slot]->uses().empty()) graph.erase(*inputs[slot]);
}

}  // namespace

std::string quantizer_name(const std::string& value) { return value + kNameEnding; }

std::string quantized_value(const std::string& name) {
  const std::size_t end = name.rfind(kNameEnding);
  if (end == std::string::npos) return name;
  const std::string rest = name.substr(end + std::string_view(kNameEnding).size());
  return rest.empty() || rest[0] == '.' ? name.substr(0, end) : name;
}

bool is_quantizer(const Node* node) { return node && node->op() == kFakeQuantOp; }
bool is_bias_quantizer(const Node* node) { return node && node->op() == kQuantizeBiasOp; }

std::vector<Node*> quantizers_of(const Graph& graph) { return nodes_of(graph, is_quantizer); }
std::vector<Node*> bias_quantizers_of(const Graph& graph) { return nodes_of(graph, is_bias_quantizer); }

Node* quantizer_behind(const Value& value) {
  for (const Value::Use& use : value.uses())
    if (use.slot == 0 && is_quantizer(use.node)) return use.node;
  return nullptr;
}

Node* quantizer_in_front(const Node& reader, int slot) {
  Node* producer = slot >= 0 && reader.input(slot) ? reader.input(slot)->producer() : nullptr;
  return is_quantizer(producer) ? producer : nullptr;
}

Node* quantizer_of(const Graph& graph, const std::string& value) {
  // By its own name first: something may lie between the value and its quantizer (a norm that trains).
  Node* named = graph.find_node(quantizer_name(value));
  const Value* found = graph.find_value(value);
  if (is_quantizer(named) || !found) return is_quantizer(named) ? named : nullptr;
  return quantizer_behind(*found);
}

Node& insert_bias_quantizer(Graph& graph, Node& layer, int slot, Value& bias, const Node& x, const Node& w,
                            bool quantize) {
  Node& node = graph.insert_before(layer, kQuantizeBiasOp, graph.unique_name(quantizer_name(bias.name())),
                                   {&bias, x.input(1), w.input(1)});
  node.output().set_type(bias.type());
  set_on(node, quantize);
  graph.set_input(layer, slot, &node.output());
  return node;
}

Graph without_quantizers(const Graph& graph) {
  Graph plain(graph);
  for (Node* node : bias_quantizers_of(plain)) take_out(plain, *node);
  for (Node* node : quantizers_of(plain)) take_out(plain, *node);
  return plain;
}

FakeQuantTensors fake_quant_tensors(const Node& quantizer) {
  FakeQuantTensors tensors;
  for (std::size_t i = 1; i < quantizer.inputs().size(); ++i) {
    QUENCH_CHECK(quantizer.inputs()[i], quantizer.where(), ": input ", i, " is absent");
    tensors.all.push_back(quantizer.inputs()[i]->tensor());
  }
  return tensors;
}

void set_qparams(const Node& quantizer, const QParams& params) {
  fake_quant_of(quantizer)->accept(params, fake_quant_tensors(quantizer));
}

QParams qparams_of(const Node& quantizer) { return fake_quant_of(quantizer)->deployed(fake_quant_tensors(quantizer)); }

}  // namespace quench
