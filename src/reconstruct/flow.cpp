#include "reconstruct/flow.h"

#include <algorithm>

#include "data/batch_size.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/quantizers.h"
#include "reconstruct/outlier_product.h"

namespace quench {
namespace {

constexpr const char* kOpenBatch = "quench_batch";

std::vector<const Value*> inputs_of(const Node& node) {
  std::vector<const Value*> found;
  for (const Value* input : node.inputs())
    if (input && std::find(found.begin(), found.end(), input) == found.end()) found.push_back(input);
  return found;
}

const Node* only_reader(const Value& value) {
  const std::vector<Value::Use>& uses = value.uses();
  const auto is_same = [&](const Value::Use& use) { return use.node == uses[0].node; };
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), is_same) ? uses[0].node : nullptr;
}

bool names_batch(const Dims& dims, const Dim& batch) {
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) { return dim.is_unknown() || dim == batch; });
}

}  // namespace

bool passes_on(const Node* node) { return is_quantizer(node) || (node && node->op() == "Identity"); }

const Value* unquantized(const Value* value) {
  while (passes_on(value->producer())) value = value->producer()->input(0);
  return value;
}

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
// beside it. Quantizers have no say in it: the order of all others is that of the float network.
void Flow::order(const Graph& graph) {
  std::unordered_map<const Node*, int> waits;
  std::unordered_map<const Value*, std::vector<const Node*>> readers;
  std::vector<const Node*> ready;
  for (const auto& node : graph.nodes()) {
    if (passes_on(node.get())) continue;
    const std::vector<const Value*> origins = origins_of(*node);
    if (origins.empty()) continue;
    for (const Value* origin : origins) {
      readers[origin].push_back(node.get());
      waits[node.get()] += origin->producer() != nullptr;
    }
    if (waits[node.get()] == 0) ready.push_back(node.get());
  }
  std::reverse(ready.begin(), ready.end());
  while (!ready.empty()) {
    const Node* next = ready.back();
    ready.pop_back();
    place(*next);
    std::vector<const Node*> freed;
    for (const Value* output : next->outputs())
      for (const Node* reader : readers[output])
        if (--waits[reader] == 0) freed.push_back(reader);
    ready.insert(ready.end(), freed.rbegin(), freed.rend());
  }
  for (const auto& node : graph.nodes())  // of what no node reads
    if (passes_on(node.get()) && depends_on_data(node->output())) place(*node);
}

// A quantizer comes right behind what it quantizes; where that is read unquantized as well, right before its reader.
void Flow::place(const Node& node) {
  if (!placed_.insert(&node).second) return;
  for (const Value* input : inputs_of(node))
    if (passes_on(input->producer()) && depends_on_data(*input)) place(*input->producer());
  for (const Value* output : node.outputs())
    if (output) made_[output] = size();
  nodes_.push_back(&node);
  for (const Value* output : node.outputs())
    if (const Node* reader = output ? only_reader(*output) : nullptr; passes_on(reader)) place(*reader);
}

// The values of data that it reads, as they are before any quantizers.
std::vector<const Value*> Flow::origins_of(const Node& node) const {
  std::vector<const Value*> origins;
  for (const Value* input : inputs_of(node)) {
    const Value* origin = unquantized(input);
    if (depends_on_data(*origin) && std::find(origins.begin(), origins.end(), origin) == origins.end())
      origins.push_back(origin);
  }
  return origins;
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
  if (is_outlier_product(&one)) return false;
  const int slot = entry_of(one).traits.weight_slot;
  const Value* weight = slot < 0 ? nullptr : one.input(slot);
  return weight && !depends_on_data(*weight);
}

bool Flow::is_join(int place) const {
  const std::vector<const Value*> inputs = inputs_of(node(place));
  return std::count_if(inputs.begin(), inputs.end(), [&](const Value* value) {
           return depends_on_data(*value) && !sizes_only_.contains(value) && !is_outlier_product(value->producer());
         }) > 1;
}

}  // namespace quench
