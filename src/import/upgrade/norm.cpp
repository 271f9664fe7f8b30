// Normalization: BatchNormalization (mode given by the number of outputs, spatial=0) and
// GroupNormalization (scale and bias per group).
#include <ATen/ATen.h>

#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// The outputs tell the mode: several in training, one in testing.
void batch_norm_7(Graph&, Node& node) { node.attrs.erase("is_test"); }

// spatial=0 had one mean per element of a sample: the same on samples flattened to vectors.
void batch_norm_9(Graph& graph, Node& node) {
  const bool spatial = node.get_int("spatial", 1) != 0;
  node.attrs.erase("spatial");
  if (spatial) return;
  Value* x = node.input(0);
  Node& shape = graph.insert_before(node, "Shape", node.name() + "_Shape", {x});
  Node& flatten = graph.insert_before(node, "Flatten", node.name() + "_Flatten", {x});
  flatten.attrs["axis"] = std::int64_t{1};
  Value& vector = add_integers(graph, node, "vector", {-1});
  std::vector<Value*> inputs{&flatten.output()};
  for (int slot = 1; slot < 5; ++slot)
    inputs.push_back(
        &graph.insert_before(node, "Reshape", node.name() + "_Reshape", {node.input(slot), &vector}).output());
  graph.set_inputs(node, inputs);
  insert_behind(graph, node, 0, "Reshape", {&shape.output()}).attrs["allowzero"] = std::int64_t{1};
}

bool is_wanted(const Value* value) { return value && (!value->uses().empty() || value->is_graph_output()); }

void batch_norm_14(Graph& graph, Node& node) {
  const auto& outputs = node.outputs();
  bool training = false;
  for (std::size_t i = 1; i < outputs.size(); ++i) training = training || outputs[i];
  for (std::size_t i = 3; i < outputs.size(); ++i)
    QUENCH_CHECK(!is_wanted(outputs[i]), "its output '", outputs[i]->name(), "' (saved mean or variance) is used, but ",
                 "BatchNormalization has no such output from opset 14 on");
  while (outputs.size() > (training ? 3U : 1U)) graph.drop_last_output(node);
  if (training) node.attrs["training_mode"] = std::int64_t{1};
}

// [groups] -> [channels], each entry repeated for the channels of its group
Value& repeat_for_channels(Graph& graph, Node& node, Value* per_group, Value& shape) {
  Value& last = add_integers(graph, node, "axis", {1});
  Node& column = graph.insert_before(node, "Unsqueeze", node.name() + "_Unsqueeze", {per_group, &last});
  Node& rows = graph.insert_before(node, "Expand", node.name() + "_Expand", {&column.output(), &shape});
  Value& vector = add_integers(graph, node, "vector", {-1});
  return graph.insert_before(node, "Reshape", node.name() + "_Reshape", {&rows.output(), &vector}).output();
}

void group_norm_21(Graph& graph, Node& node) {
  const std::int64_t groups = node.require_int("num_groups");
  const Value* x = node.input(0);
  QUENCH_CHECK(x && x->has_rank() && x->rank() > 1 && x->dims()[1].is_number(),
               "the number of channels of the input must be known");
  const std::int64_t channels = x->dims()[1].number();
  QUENCH_CHECK(groups > 0 && channels % groups == 0, channels, " channels do not divide into ", groups, " groups");
  Value& shape = add_integers(graph, node, "shape", {groups, channels / groups});
  for (int slot = 1; slot < 3; ++slot)
    graph.set_input(node, slot, &repeat_for_channels(graph, node, node.input(slot), shape));
}

}  // namespace

QUENCH_REGISTER_UPGRADE("BatchNormalization@7", batch_norm_7, "is_test goes")
QUENCH_REGISTER_UPGRADE("BatchNormalization@9", batch_norm_9, "spatial=0 becomes a flattened input")
QUENCH_REGISTER_UPGRADE("BatchNormalization@14", batch_norm_14, "the number of outputs becomes training_mode")
QUENCH_REGISTER_UPGRADE("GroupNormalization@21", group_norm_21, "scale and bias per group become per channel")

}  // namespace quench
