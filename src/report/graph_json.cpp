#include "report/graph_json.h"

#include <set>

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

// An object in the order of its keys' first mention. To look a key up in it takes as long as there are keys.
class Values {
 public:
  void add(const Value& value) {
    if (!seen_.insert(&value).second) return;
    Json object = {{"shape", shape_text(value)}};
    if (value.is_constant()) object["constant"] = true;
    members_.emplace_back(value.name(), std::move(object));
  }
  Json json() && { return std::move(members_); }

 private:
  std::set<const Value*> seen_;
  Json::object_t members_;
};

Json node_json(const Node& node, Values& values) {
  Json inputs = Json::array(), quantized = Json::array(), outputs = Json::array();
  for (const Value* input : node.inputs()) {
    const Read read = read_by(input);
    if (!read.value) continue;
    values.add(*read.value);
    inputs.push_back(read.value->name());
    quantized.push_back(read.quantized ? 1 : 0);
  }
  for (const Value* output : node.outputs()) {
    if (!output) continue;
    values.add(*output);
    outputs.push_back(output->name());
  }
  return {{"name", node.name()}, {"op", node.op()}, {"inputs", inputs}, {"quantized", quantized}, {"outputs", outputs}};
}

}  // namespace

Json graph_json(const Graph& graph) {
  Values values;
  Json nodes = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (const Value* input : graph.inputs()) {
    values.add(*input);
    inputs.push_back(input->name());
  }
  for (const auto& node : graph.nodes())
    if (!is_any_quantizer(node.get())) nodes.push_back(node_json(*node, values));
  for (const Value* output : graph.outputs()) {
    const Read read = read_by(output);
    outputs.push_back({{"value", read.value->name()}, {"quantized", read.quantized}});
  }
  return {{"inputs", inputs}, {"outputs", outputs}, {"nodes", nodes}, {"values", std::move(values).json()}};
}

}  // namespace quench
