#include "report/graph_json.h"

#include "quench/quantizers.h"

namespace quench {
namespace {

bool is_any_quantizer(const Node* node) { return is_quantizer(node) || is_bias_quantizer(node); }

// What a node reads, without the quantizers in between.
struct Read {
  const Value* value = nullptr;
  bool quantized = false;
};

Read read_by(const Value* value) {
  Read read{value, false};
  while (read.value && is_any_quantizer(read.value->producer())) {
    read.quantized = read.quantized || is_on(*read.value->producer());
    read.value = read.value->producer()->input(0);
  }
  return read;
}

std::string shape_text(const Value& value) {
  if (!value.has_rank()) return "?";
  std::string text;
  for (const Dim& dim : value.dims()) text += (text.empty() ? "" : " x ") + dim.text();
  return text.empty() ? "scalar" : text;
}

void add_value(const Value& value, Json& values) {
  if (values.contains(value.name())) return;
  values[value.name()] = {{"shape", shape_text(value)}};
  if (value.is_constant()) values[value.name()]["constant"] = true;
}

Json node_json(const Node& node, Json& values) {
  Json inputs = Json::array(), quantized = Json::array(), outputs = Json::array();
  for (const Value* input : node.inputs()) {
    const Read read = read_by(input);
    if (!read.value) continue;
    add_value(*read.value, values);
    inputs.push_back(read.value->name());
    quantized.push_back(read.quantized ? 1 : 0);
  }
  for (const Value* output : node.outputs()) {
    if (!output) continue;
    add_value(*output, values);
    outputs.push_back(output->name());
  }
  return {{"name", node.name()}, {"op", node.op()}, {"inputs", inputs}, {"quantized", quantized}, {"outputs", outputs}};
}

}  // namespace

Json graph_json(const Graph& graph) {
  Json values = Json::object(), nodes = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (const Value* input : graph.inputs()) {
    add_value(*input, values);
    inputs.push_back(input->name());
  }
  for (const auto& node : graph.nodes())
    if (!is_any_quantizer(node.get())) nodes.push_back(node_json(*node, values));
  for (const Value* output : graph.outputs()) {
    const Read read = read_by(output);
    outputs.push_back({{"value", read.value->name()}, {"quantized", read.quantized}});
  }
  return {{"inputs", inputs}, {"outputs", outputs}, {"nodes", nodes}, {"values", values}};
}

}  // namespace quench
