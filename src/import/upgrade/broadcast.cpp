// Binary operators below 7: broadcasting had to be asked for, and could line up B at any axis of A.
#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

void broadcast_7(Graph& graph, Node& node) {
  const bool lined_up = node.get_int("broadcast", 0) != 0 && node.has("axis");
  const std::int64_t axis = node.get_int("axis", 0);
  node.attrs.erase("broadcast");
  node.attrs.erase("axis");
  if (!lined_up) return;  // from the last dimension, as today
  const Value *a = node.input(0), *b = node.input(1);
  QUENCH_CHECK(a && b && a->has_rank() && b->has_rank(), "with axis=", axis, " the ranks of both inputs must be known");
  if (b->rank() == 0) return;
  std::vector<std::int64_t> axes;
  for (int at = normalize_axis(axis, a->rank(), node) + b->rank(); at < a->rank(); ++at)
    axes.push_back(b->rank() + static_cast<std::int64_t>(axes.size()));
  unsqueeze_input(graph, node, 1, axes);
}

void gemm_7(Graph&, Node& node) { node.attrs.erase("broadcast"); }

}  // namespace

QUENCH_REGISTER_UPGRADE("Add@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Sub@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Mul@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Div@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Pow@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("And@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Or@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Xor@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Equal@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Greater@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Less@7", broadcast_7, "axis becomes dims of 1")
QUENCH_REGISTER_UPGRADE("Gemm@7", gemm_7, "broadcasting of C need not be asked for")

}  // namespace quench
