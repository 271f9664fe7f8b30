// Squeeze, Unsqueeze and the Reduce family: the attribute `axes` became an input, at 13 for some and at
// 18 for the rest.
#include "graph/edit.h"
#include "import/upgrade/rule.h"

namespace quench {
namespace {

// No axes, or an empty list, meant all of them: so does an absent input.
void axes_to_input(Graph& graph, Node& node) {
  const std::vector<std::int64_t> axes = node.get_ints("axes", {});
  node.attrs.erase("axes");
  if (!axes.empty()) set_optional_input(graph, node, 1, &add_integers(graph, node, "axes", axes));
}

// Unsqueeze must have the input, even for no axes at all.
void unsqueeze_13(Graph& graph, Node& node) {
  set_optional_input(graph, node, 1, &add_integers(graph, node, "axes", node.require_ints("axes")));
  node.attrs.erase("axes");
}

}  // namespace

QUENCH_REGISTER_UPGRADE("Squeeze@13", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("Unsqueeze@13", unsqueeze_13, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceSum@13", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceL1@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceL2@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceLogSum@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceLogSumExp@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceMax@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceMean@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceMin@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceProd@18", axes_to_input, "axes become an input")
QUENCH_REGISTER_UPGRADE("ReduceSumSquare@18", axes_to_input, "axes become an input")

}  // namespace quench
