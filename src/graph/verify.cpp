// verify(): the invariants of a graph, and sort(), which establishes the first of them.
#include <ATen/ATen.h>

#include <unordered_map>
#include <unordered_set>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

void verify_constant(const Value& value) {
  const at::Tensor& tensor = value.tensor();
  QUENCH_CHECK(tensor.defined(), "constant '", value.name(), "' has no tensor");
  QUENCH_CHECK(tensor.scalar_type() == scalar_type_of(value.dtype()), "constant '", value.name(), "' says ",
               name_of(value.dtype()), " but holds ", c10::toString(tensor.scalar_type()));
}

void verify_bodies(const Node& node) {
  QUENCH_CHECK(node.captures >= 0 && node.captures <= static_cast<int>(node.inputs().size()), node.where(), " has ",
               node.captures, " captures among ", node.inputs().size(), " inputs");
  for (const auto& [key, attr] : node.attrs) {
    const auto* body = std::get_if<GraphPtr>(&attr);
    if (!body) continue;
    QUENCH_CHECK(*body, node.where(), ": attribute '", key, "' holds no graph");
    QUENCH_CHECK(static_cast<int>((*body)->inputs().size()) >= node.captures, node.where(), ": body '", key,
                 "' has fewer inputs than the node has captures");
    with_context([&] { return concat("in the body '", key, "' of ", node.where()); }, [&] { (*body)->verify(); });
  }
}

// Every use is an input of its node; with as many uses as inputs in all, the reverse holds too.
void verify_uses(const Value& value) {
  for (const Value::Use& use : value.uses())
    QUENCH_CHECK(use.node->input(use.slot) == &value, "'", value.name(), "' thinks it is input ", use.slot, " of ",
                 use.node->where());
}

void verify_links(const Node& node, const std::unordered_set<const Value*>& available) {
  for (const Value* input : node.inputs())
    QUENCH_CHECK(!input || available.contains(input), node.where(), " uses '", input->name(), "' before it is made");
  for (const Value* output : node.outputs())
    QUENCH_CHECK(!output || output->producer() == &node, "output of ", node.where(), " has another producer");
}

}  // namespace

bool moves_codes(const Node& node) {
  const OpTraits& traits = entry_of(node).traits;
  return traits.moves_codes && traits.moves_codes(node);
}

const OpEntry& entry_of(const Node& node) {
  if (const OpEntry* entry = OpRegistry::instance().find(node.op())) return *entry;
  const std::string nearest = nearest_name(node.op(), OpRegistry::instance().names());
  fail("operator '", node.op(), "' of node '", node.name(), "' is not supported",
       nearest.empty() ? "" : concat(" (nearest: ", nearest, ")"), "; `quench list ops` shows those that are");
}

void Graph::verify() const {
  std::unordered_set<const Value*> available;
  std::size_t uses = 0, inputs = 0;
  for (const auto& [key, value] : values_) {
    verify_uses(*value);
    uses += value->uses().size();
    QUENCH_CHECK(key == value->name(), "value '", value->name(), "' is filed under '", key, "'");
    if (value->is_constant()) verify_constant(*value);
    if (value->is_constant() || value->is_input()) available.insert(value.get());
  }
  for (const auto& node : nodes_) {
    entry_of(*node);
    for (const Value* input : node->inputs()) inputs += input ? 1 : 0;
    verify_links(*node, available);
    verify_bodies(*node);
    for (const Value* output : node->outputs())
      if (output) available.insert(output);
  }
  QUENCH_CHECK(uses == inputs, "values know ", uses, " uses, nodes have ", inputs, " inputs");
  QUENCH_CHECK(available.size() == values_.size(), "the graph holds values that nothing makes");
  for (const Value* output : outputs_)
    QUENCH_CHECK(available.contains(output), "output '", output->name(), "' is never made");
}

void Graph::sort() {
  std::unordered_map<const Node*, int> waiting;  // inputs that are still to be made
  std::list<std::unique_ptr<Node>> sorted;
  const auto is_ready = [&](const Node& node) { return waiting[&node] == 0; };
  for (const auto& node : nodes_)
    for (const Value* input : node->inputs())
      if (input && input->producer()) ++waiting[node.get()];
  // Repeatedly takes the first node that is ready; a node becomes ready when its last producer is taken.
  std::vector<Node*> ready;
  std::unordered_map<const Node*, std::size_t> order;
  for (const auto& node : nodes_) order[node.get()] = order.size();
  const auto later = [&](const Node* a, const Node* b) { return order[a] > order[b]; };
  for (const auto& node : nodes_)
    if (is_ready(*node)) ready.push_back(node.get());
  std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    Node* node = ready.back();
    ready.pop_back();
    sorted.splice(sorted.end(), nodes_, node->position_);
    for (const Value* output : node->outputs_) {
      if (!output) continue;
      for (const Value::Use& use : output->uses_) {
        if (--waiting[use.node] != 0) continue;
        ready.push_back(use.node);
        std::push_heap(ready.begin(), ready.end(), later);
      }
    }
  }
  const bool cyclic = !nodes_.empty();
  const std::string first = cyclic ? nodes_.front()->where() : "";
  sorted.splice(sorted.end(), nodes_);
  nodes_ = std::move(sorted);
  changed();
  QUENCH_CHECK(!cyclic, "the graph has a cycle through ", first);
}

}  // namespace quench
