// Scan of opset 8 ran its body for every element of a batch. In the dialect that is a Scan over the
// batch, with the scan over the sequence as its body.
#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "quench/error.h"

namespace quench {
namespace {

// Without its batch dimension.
TypeInfo slice_type(const Value* value) {
  TypeInfo type = value ? value->type() : TypeInfo();
  if (type.dims && !type.dims->empty()) type.dims->erase(type.dims->begin());
  return type;
}

// A graph that holds the scan of one sequence; its inputs are slices of the node's, captures apart.
GraphPtr scan_of_one_sequence(const Node& node, const std::vector<Value*>& inputs) {
  auto body = std::make_shared<Graph>();
  body->name = node.name() + "_batch";
  const std::size_t sliced = inputs.size() - static_cast<std::size_t>(node.captures);
  std::vector<Value*> inner;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    QUENCH_CHECK(inputs[i], "input ", i + 1, " is absent");
    inner.push_back(&body->add_input(concat("in_", i), i < sliced ? slice_type(inputs[i]) : inputs[i]->type()));
  }
  Node& scan = body->add("Scan", "scan", inner, static_cast<int>(node.outputs().size()));
  scan.captures = node.captures;
  node.require_graph("body");
  scan.attrs["body"] = node.attrs.at("body");
  scan.attrs["num_scan_inputs"] = node.require_int("num_scan_inputs");
  if (node.has("directions")) scan.attrs["scan_input_directions"] = node.require_ints("directions");
  for (Value* output : scan.outputs()) body->add_output(*output);
  return body;
}

void scan_9(Graph& graph, Node& node) {
  QUENCH_CHECK(!node.input(0), "the sequence lengths of a Scan of opset 8 are not supported; ",
               "convert the model to opset 9 or newer first");
  node.require_graph("body");
  const std::vector<Value*> inputs(node.inputs().begin() + (node.inputs().empty() ? 0 : 1), node.inputs().end());
  const GraphPtr body = scan_of_one_sequence(node, inputs);
  graph.set_inputs(node, inputs);
  node.attrs.erase("directions");
  node.attrs["body"] = body;
  node.attrs["num_scan_inputs"] = static_cast<std::int64_t>(inputs.size()) - node.captures;
}

}  // namespace

QUENCH_REGISTER_UPGRADE("Scan@9", scan_9, "a batch of sequences becomes a Scan over the batch")

}  // namespace quench
