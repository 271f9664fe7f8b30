#include "import/module_aliases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "import/aten_graph.h"
#include "quench/error.h"

namespace quench {
AliasCheck::AliasCheck(const Trace& trace) : trace_(trace), root_(trace.values.size()) {
  std::iota(root_.begin(), root_.end(), 0);
  for (const TraceNode& node : trace.nodes) {
    if (node.inputs.empty() || (!is_view_kind(node.kind) && !is_in_place_kind(node.kind))) continue;
    for (const int output : node.outputs)
      root_[static_cast<std::size_t>(output)] = root_[static_cast<std::size_t>(node.inputs[0])];
  }
}

void AliasCheck::check(std::size_t index, const std::string& where, const std::function<std::string(int)>& state_name) {
  const TraceNode& node = trace_.nodes[index];
  for (const int input : node.inputs)
    QUENCH_CHECK(!stale_.contains(input), where,
                 " reads a view of a tensor that an in-place operator has changed since; make the change out of place");
  if (!is_in_place_kind(node.kind)) return;
  const int root = root_[static_cast<std::size_t>(node.inputs.at(0))];
  const std::string owner = state_name(root);
  QUENCH_CHECK(owner.empty(), where, " writes to '", owner,
               "' in evaluation mode; a graph keeps no state of that kind");
  // All that shares the memory and was there before, lists of views included.
  const int first_new = node.outputs.empty() ? 0 : node.outputs[0];
  for (int value = 0; value < first_new; ++value)
    if (root_[static_cast<std::size_t>(value)] == root) stale_.insert(value);
}

}  // namespace quench
