#include "reconstruct/flow.h"

#include <algorithm>

#include "data/batch_size.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr const char* kOpenBatch = "quench_batch";

std::vector<const Value*> inputs_of(const Node& node) {
  std::vector<const Value*> found;
  for (const Value* input : node.inputs())
    if (input && std::find(found.begin(), found.end(), input) == found.end()) found.push_back(input);
  return found;
}

bool names_batch(const Dims& dims, const Dim& batch) {
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) { return dim.is_unknown() || dim == batch; });
}

}  // namespace

Flow::Flow(const Graph& graph) : batch_(batch_dim(graph)) {
  if (batch_.is_number() && batch_.number() > 1) open_batch(graph);
  for (const Value* input : graph.inputs()) made_[input] = -1;
  for (const auto& node : graph.nodes()) {  // in topological order: marks what depends on data
    const std::vector<const Value*> inputs = inputs_of(*node);
    const auto depends = [&](const Value* value) { return made_.contains(value); };
    if (std::none_of(inputs.begin(), inputs.end(), depends)) continue;
    const bool sizes =
        entry_of(*node).traits.shape_only || std::all_of(inputs.begin(), inputs.end(), [&](const Value* value) {
          return !made_.contains(value) || sizes_only_.contains(value);
        });
    for (const Value* output : node->outputs()) {
      if (!output) continue;
      made_[output] = 0;
      if (sizes) sizes_only_.insert(output);
    }
  }
  order(graph);
  for (int place = 0; place < size(); ++place)
    for (const Value* input : inputs_of(node(place)))
      if (made_.contains(input)) last_[input] = place;
}

// A fixed batch of 4 cannot be told from another axis of 4: the shapes are inferred anew with a symbol for it.
void Flow::open_batch(const Graph& graph) {
  Graph open(graph);
  for (const auto& node : open.nodes())
    for (Value* output : node->outputs())
      if (output) output->set_type(TypeInfo::tensor(output->dtype()));
  for (Value* input : open.inputs()) {
    if (!input->has_rank() || input->rank() == 0 || !(input->dims()[0] == batch_)) continue;
    Dims dims = input->dims();
    dims[0] = Dim::symbol(kOpenBatch);
    input->set_type(TypeInfo::tensor(input->dtype(), dims));
  }
  try {
    infer_shapes(open);
  } catch (const Error&) {
    return;  // the model insists on its batch
  }
  for (const Value* value : graph.values())
    if (const Value* same = open.find_value(value->name()); same && same->has_rank()) open_[value] = same->dims();
}

// Depth first: what only waits for the node just placed comes next, so that a chain is not torn apart by a branch
// beside it.
void Flow::order(const Graph& graph) {
  std::unordered_map<const Node*, int> waits;
  std::vector<const Node*> ready;
  for (const auto& node : graph.nodes()) {
    int inputs = 0, open = 0;
    for (const Value* input : inputs_of(*node)) {
      inputs += made_.contains(input);
      open += made_.contains(input) && input->producer();
    }
    if (inputs == 0) continue;
    waits[node.get()] = open;
    if (open == 0) ready.push_back(node.get());
  }
  std::reverse(ready.begin(), ready.end());
  while (!ready.empty()) {
    const Node* next = ready.back();
    ready.pop_back();
    for (const Value* output : next->outputs())
      if (output) made_[output] = size();
    nodes_.push_back(next);
    std::vector<const Node*> freed;
    for (const Value* output : next->outputs()) {
      if (!output) continue;
      std::set<const Node*> readers;
      for (const Value::Use& use : output->uses())
        if (waits.contains(use.node) && readers.insert(use.node).second && --waits[use.node] == 0)
          freed.push_back(use.node);
    }
    ready.insert(ready.end(), freed.rbegin(), freed.rend());
  }
}

std::vector<const Value*> Flow::alive_at(int place) const {
  std::vector<const Value*> alive;
  for (const auto& [value, last] : last_)
    if (made_.at(value) < place && last >= place) alive.push_back(value);
  std::sort(alive.begin(), alive.end(), [](const Value* a, const Value* b) { return a->name() < b->name(); });
  return alive;
}

int Flow::made_at(const Value& value) const { return made_.at(&value); }

int Flow::last_read(const Value& value) const {
  const auto at = last_.find(&value);
  return at == last_.end() ? -1 : at->second;
}

bool Flow::is_row(const Value& value) const {
  if (!value.has_rank() || value.rank() == 0 || !value.dims()[0].certainly_equal(batch_)) return false;
  const auto open = open_.find(&value);
  if (open == open_.end()) return true;
  const auto counts_items = [](const Dim& dim) { return dim.symbol().find(kOpenBatch) != std::string::npos; };
  return open->second[0] == Dim::symbol(kOpenBatch) ||
         std::none_of(open->second.begin(), open->second.end(), counts_items);
}

bool Flow::is_target(const Value& value) const { return is_row(value) && value.dtype() == DType::kFloat; }

bool Flow::is_shared(const Value& value) const {
  if (value.is_input()) return !is_row(value);
  return sizes_only_.contains(&value) && value.has_rank() && !names_batch(value.dims(), batch_) &&
         (!value.contents || !names_batch(*value.contents, batch_));
}

bool Flow::has_layer(int place) const {
  const Node& one = node(place);
  const int slot = entry_of(one).traits.weight_slot;
  const Value* weight = slot < 0 ? nullptr : one.input(slot);
  return weight && !depends_on_data(*weight);
}

bool Flow::is_join(int place) const {
  const std::vector<const Value*> inputs = inputs_of(node(place));
  return std::count_if(inputs.begin(), inputs.end(),
                       [&](const Value* value) { return depends_on_data(*value) && !sizes_only_.contains(value); }) > 1;
}

}  // namespace quench
