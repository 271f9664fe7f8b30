// DFT: the axis became an input, and its default moved from 1 to the last but one.
#include <ATen/ATen.h>

#include "graph/edit.h"
#include "import/upgrade/rule.h"

namespace quench {
namespace {

void dft_20(Graph& graph, Node& node) {
  const auto axis = static_cast<double>(node.get_int("axis", 1));
  set_optional_input(graph, node, 2, &add_scalar(graph, node, "axis", axis, DType::kInt64));
  node.attrs.erase("axis");
}

}  // namespace

QUENCH_REGISTER_UPGRADE("DFT@20", dft_20, "axis becomes an input")

}  // namespace quench
