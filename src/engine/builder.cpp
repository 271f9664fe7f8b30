#include "engine/builder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/island.h"
#include "quench/error.h"

namespace quench {
namespace {

bool is_integer_op(const Node& node) { return node.op() == "quench.Quantize" || node.op() == "quench.Dequantize"; }

// A graph input, in the caller's memory.
bool fits_slot(const Value& value) {
  return value.type().is_tensor() && onednn_type(value.dtype()) && value.has_rank() && value.rank() > 0 &&
         sizes_of(value.dims());
}

DnnlLayout plain_layout_of(const Value& value) {
  return plain_layout(*sizes_of(value.dims()), *onednn_type(value.dtype()));
}

}  // namespace

dnnl::memory PackedWeights::get(const std::string& key, const DnnlLayout& layout,
                                const std::function<at::Tensor()>& make) {
  const auto [first, last] = kept_.equal_range(key);
  for (auto at = first; at != last; ++at)
    if (at->second.get_desc() == layout) return at->second;
  const at::Tensor tensor = make().contiguous();
  const auto type = tensor.scalar_type() == at::kFloat  ? dnnl::memory::data_type::f32
                    : tensor.scalar_type() == at::kChar ? dnnl::memory::data_type::s8
                    : tensor.scalar_type() == at::kByte ? dnnl::memory::data_type::u8
                                                        : dnnl::memory::data_type::s32;
  dnnl::memory from(plain_layout(tensor.sizes().vec(), type), onednn_cpu(), tensor.data_ptr());
  dnnl::memory packed(layout, onednn_cpu());
  dnnl::stream stream(onednn_cpu());
  dnnl::reorder(from, packed).execute(stream, from, packed);
  stream.wait();
  kept_.emplace(key, packed);
  return packed;
}

std::int64_t PackedWeights::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [key, memory] : kept_) bytes += static_cast<std::int64_t>(memory.get_desc().get_size());
  return bytes;
}

Builder::Builder(const Graph& graph, PackedWeights& weights, const std::vector<Watch>& watches)
    : graph_(graph), weights_(weights) {
  for (const Watch& watch : watches) watches_[watch.value] = &watch;
  watching_ = !watches.empty();
  for (const auto& node : graph.nodes())
    if (is_integer_op(*node)) float_kernels_ = false;
}

TaskList Builder::build() {
  add_inputs();
  show_new_values();
  for (const auto& node : graph_.nodes())
    if (!absorbed_.contains(node.get())) add_node(*node);
  add_outputs();
  program_.arena_bytes = plan_arena(program_.slots);
  return std::move(program_);
}

void Builder::add_inputs() {
  for (const Value* input : graph_.inputs()) {
    Place place;
    if (fits_slot(*input)) {
      place.slot = add_slot(plain_layout_of(*input));
      program_.slots.back().input = static_cast<int>(program_.input_slots.size());
    }
    place.value = program_.values++;
    places_[input] = place;
    program_.input_slots.push_back(place.slot);
    program_.input_values.push_back(place.value);
  }
}

void Builder::define(const Value& value, int slot) { places_[&value].slot = slot; }

void Builder::add_watch(const Value& value, const Watch& watch) {
  const Place place = places_.at(&value);
  if (place.slot < 0) {
    add_step(std::make_unique<WatchStep>(watch, place, DnnlLayout()), {value.name(), "watch", "caller's"}, {}, {});
    return;
  }
  const DnnlLayout& found = layout(place.slot);
  const bool as_it_lies = !is_blocked(found) || (watch.any_order && is_dense(found));
  const int slot = as_it_lies ? place.slot : plain(place.slot);
  add_step(std::make_unique<WatchStep>(watch, Place{slot, -1}, layout(slot)), {value.name(), "watch", "caller's"},
           {slot}, {});
}

void Builder::add_node(const Node& node) {
  current_ = &node;
  add_steps(node);
  show_new_values();
}

// What is defined and was not before: values of absorbed nodes too.
void Builder::show_new_values() {
  for (auto at = watches_.begin(); at != watches_.end();) {
    const Value& value = graph_.value(at->first);
    if (!places_.contains(&value)) {
      ++at;
      continue;
    }
    add_watch(value, *at->second);
    at = watches_.erase(at);
  }
}

void Builder::add_steps(const Node& node) {
  const EngineOp* op = EngineOpRegistry::instance().find(node.op());
  try {
    if (op && op->build(*this, node)) return;
  } catch (const dnnl::error&) {
    // oneDNN has no kernel for these shapes or types: the executor has. What was begun is forgotten.
    for (const Value* output : node.outputs()) places_.erase(output);
  }
  add_island(node);
}

int Builder::input(const Value& value) {
  if (value.is_constant()) {
    if (!fits_slot(value)) return -1;
    add_constant(value);
  }
  const auto at = places_.find(&value);
  if (at == places_.end()) return -1;
  if (at->second.slot < 0 && fits_slot(value)) at->second.slot = import_value(value, at->second.value);
  return at->second.slot;
}

void Builder::add_constant(const Value& value) {
  Place& place = places_[&value];
  if (place.value >= 0) return;
  place.value = program_.values++;
  add_step(std::make_unique<ConstantStep>(RtValue(value.tensor(), value.dtype()), place.value),
           {value.name(), "constant", "constant"}, {}, {});
}

int Builder::import_value(const Value& value, int from) {
  const int slot = add_slot(plain_layout_of(value));
  add_step(std::make_unique<ImportStep>(from, slot), *current_, "copy from the executor", {}, {slot});
  return slot;
}

int Builder::input_as(int slot, const DnnlLayout& wanted) {
  if (layout(slot) == wanted) return slot;
  for (const int copy : copies_[slot])
    if (layout(copy) == wanted) return copy;
  // Sizes of 1 may have any stride: the same memory serves.
  if ((is_plain(layout(slot)) && is_plain(wanted)) || (is_channels_last(layout(slot)) && is_channels_last(wanted))) {
    const int alias = add_alias(slot, wanted);
    copies_[slot].push_back(alias);
    return alias;
  }
  copies_[slot].push_back(add_copy(slot, wanted));
  return copies_[slot].back();
}

int Builder::add_copy(int slot, const DnnlLayout& wanted) {
  const int copy = add_slot(wanted);
  dnnl::reorder::primitive_desc description(onednn_cpu(), layout(slot), onednn_cpu(), wanted, attributes_with());
  add_primitive(*this, *current_, description, dnnl::reorder(description), {{{DNNL_ARG_FROM, slot}}, copy, {}});
  program_.steps.back()->name.op = "reorder";
  return copy;
}

int Builder::own_memory(int slot) {
  if (program_.slots[static_cast<std::size_t>(memory_of(slot))].input < 0) return slot;
  const DnnlLayout same = layout(slot);
  return add_copy(slot, same);
}

int Builder::memory_of(int slot) const {
  while (program_.slots[static_cast<std::size_t>(slot)].alias_of >= 0)
    slot = program_.slots[static_cast<std::size_t>(slot)].alias_of;
  return slot;
}

int Builder::add_slot(const DnnlLayout& layout) {
  program_.slots.push_back({layout});
  return static_cast<int>(program_.slots.size()) - 1;
}

int Builder::add_alias(int slot, const DnnlLayout& layout, std::int64_t shift) {
  const int alias = add_slot(layout);
  program_.slots.back().alias_of = slot;
  program_.slots.back().shift = shift;
  return alias;
}

void Builder::add_step(std::unique_ptr<Task> step, const Node& node, const std::string& kernel,
                       const std::vector<int>& reads, const std::vector<int>& writes) {
  add_step(std::move(step), {node.name(), node.op(), kernel}, reads, writes);
}

void Builder::add_step(std::unique_ptr<Task> step, StepName name, const std::vector<int>& reads,
                       const std::vector<int>& writes) {
  const int index = static_cast<int>(program_.steps.size());
  step->index = index;
  step->name = std::move(name);
  const auto touch = [&](int slot) {
    Slot& one = program_.slots[static_cast<std::size_t>(memory_of(slot))];
    if (one.first < 0) one.first = index;
    one.last = index;
  };
  for (const int slot : reads) touch(slot);
  for (const int slot : writes) touch(slot);
  program_.steps.push_back(std::move(step));
}

const Node* Builder::only_reader(const Value& value) const {
  return value.uses().size() == 1 && !value.is_graph_output() ? value.uses()[0].node : nullptr;
}

bool Builder::is_defined(const Value& value) const { return places_.contains(&value); }

void Builder::add_island(const Node& node) {
  IslandStep::Inputs inputs;
  std::vector<int> reads;
  for (const Value* value : node.inputs()) {
    if (!value || value->is_constant() || inputs.contains(value->name())) continue;
    const Place place = places_.at(value);
    if (place.value >= 0) {
      inputs[value->name()] = {place, {}};
      continue;
    }
    // The executor reads what lies in strides where it is.
    const int slot = is_blocked(layout(place.slot)) ? plain(place.slot) : place.slot;
    inputs[value->name()] = {{slot, -1}, layout(slot)};
    reads.push_back(slot);
  }
  std::vector<std::pair<std::string, int>> outputs;
  for (const Value* value : node.outputs()) {
    if (!value) continue;
    Place& place = places_[value];
    place.value = program_.values++;
    outputs.emplace_back(value->name(), place.value);
  }
  add_step(std::make_unique<IslandStep>(std::move(inputs), std::move(outputs)), node, "executor", reads, {});
}

void Builder::add_outputs() {
  if (watching_) return;  // outputs are there to be watched
  for (const Value* output : graph_.outputs()) {
    if (output->is_constant()) add_constant(*output);
    Place place = places_.at(output);
    if (place.value < 0) {
      if (is_blocked(layout(place.slot))) place.slot = plain(place.slot);
      // Alive to the end.
      program_.slots[static_cast<std::size_t>(memory_of(place.slot))].last = static_cast<int>(program_.steps.size());
    }
    program_.outputs.push_back(place);
  }
}

}  // namespace quench
