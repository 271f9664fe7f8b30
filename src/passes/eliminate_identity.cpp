// eliminate_identity: removes nodes that return their input: Identity, a Cast to the same type,
// a Transpose that keeps the order, a Concat of one, a Reshape or Expand to the same dims.
// eliminate_dropout: removes Dropout, which does nothing in inference; not for training.
#include <algorithm>

#include "passes/rewrite.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {
namespace {

bool keeps_order(const Node& node) {
  const std::vector<std::int64_t> order = node.get_ints("perm", {});
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  return !order.empty();
}

bool has_same_dims(const Node& node) {
  const Value* input = node.input(0);
  if (!input->has_rank() || !node.output().has_rank() || input->rank() != node.output().rank()) return false;
  return std::equal(input->dims().begin(), input->dims().end(), node.output().dims().begin(),
                    [](const Dim& a, const Dim& b) { return a.certainly_equal(b); });
}

bool is_identity(const Node& node) {
  if (node.inputs().empty() || !node.input(0) || node.outputs().size() != 1) return false;
  const std::string& op = node.op();
  if (op == "Identity") return true;
  if (op == "Cast") return node.input(0)->dtype() == static_cast<DType>(node.get_int("to", 0));
  if (op == "Transpose") return keeps_order(node);
  if (op == "Concat") return node.inputs().size() == 1;
  return (op == "Reshape" || op == "Expand" || op == "Flatten") && has_same_dims(node);
}

bool is_idle_dropout(const Node& node) {
  const bool wants_mask = node.outputs().size() > 1 && node.outputs()[1] && !node.outputs()[1]->uses().empty();
  return node.op() == "Dropout" && !wants_mask &&
         !(node.outputs().size() > 1 && node.outputs()[1] && node.outputs()[1]->is_graph_output());
}

int remove_where(Graph& graph, bool (*matches)(const Node&)) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (matches(*node)) found.push_back(node.get());
  return static_cast<int>(
      std::count_if(found.begin(), found.end(), [&](Node* node) { return bypass(graph, *node, *node->input(0)); }));
}

int eliminate_identity(Graph& graph) { return remove_where(graph, is_identity); }
int eliminate_dropout(Graph& graph) { return remove_where(graph, is_idle_dropout); }

}  // namespace

QUENCH_REGISTER_PASS("eliminate_identity", eliminate_identity, "removes nodes that return their input unchanged")
QUENCH_REGISTER_PASS("eliminate_dropout", eliminate_dropout, "removes Dropout: for inference")

}  // namespace quench
