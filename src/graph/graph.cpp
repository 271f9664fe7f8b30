// Graph: ownership, links and edits. Every edit keeps producers, uses and names in step.
#include "quench/graph.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/registry.h"

namespace quench {

void Graph::changed() {
  static std::atomic<std::uint64_t> last = 0;
  revision_ = ++last;
}

Graph::Graph() = default;
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::Graph(const Graph& other) { copy_from(other, false); }
Graph& Graph::operator=(const Graph& other) {
  if (this != &other) *this = Graph(other);
  return *this;
}

Graph Graph::clone() const {
  Graph copy;
  copy.copy_from(*this, true);
  return copy;
}

std::vector<Value*> Graph::values() const {
  std::vector<Value*> result;
  for (const auto& [name, value] : values_) result.push_back(value.get());
  std::sort(result.begin(), result.end(), [](const Value* a, const Value* b) { return a->name() < b->name(); });
  return result;
}

std::vector<Value*> Graph::constants() const {
  std::vector<Value*> result = values();
  std::erase_if(result, [](const Value* value) { return !value->is_constant(); });
  return result;
}

std::vector<Value*> Graph::parameters() const {
  std::vector<Value*> result = values();
  std::erase_if(result, [](const Value* value) { return !value->is_constant() || !value->is_parameter(); });
  return result;
}

Value* Graph::find_value(const std::string& name) const {
  auto at = values_.find(name);
  return at == values_.end() ? nullptr : at->second.get();
}

Node* Graph::find_node(const std::string& name) const {
  auto at = nodes_by_name_.find(name);
  return at == nodes_by_name_.end() ? nullptr : at->second;
}

Value& Graph::value(const std::string& name) const {
  if (Value* value = find_value(name)) return *value;
  std::vector<std::string> names;
  for (const auto& entry : values_) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  fail_unknown_name("value", name, names);
}

std::string Graph::unique_name(const std::string& base) const {
  std::string name = base;
  for (int i = 1; values_.contains(name); ++i) name = concat(base, "_", i);
  return name;
}

Value& Graph::add_value(const std::string& name) {
  QUENCH_CHECK(!name.empty(), "a value needs a name");
  auto [at, added] = values_.try_emplace(name, std::make_unique<Value>());
  QUENCH_CHECK(added, "the name '", name, "' is used twice in the graph");
  at->second->name_ = name;
  changed();
  return *at->second;
}

Value& Graph::add_input(const std::string& name, TypeInfo type) {
  Value& value = add_value(name);
  value.type_ = std::move(type);
  value.is_input_ = true;
  inputs_.push_back(&value);
  return value;
}

Value& Graph::add_constant(const std::string& name, const at::Tensor& tensor) {
  return add_constant(name, tensor, dtype_of(tensor));
}

Value& Graph::add_constant(const std::string& name, const at::Tensor& tensor, DType dtype) {
  Value& value = add_value(name);
  set_tensor(value, tensor, dtype);
  return value;
}

void Graph::set_tensor(Value& constant, const at::Tensor& tensor) { set_tensor(constant, tensor, dtype_of(tensor)); }

void Graph::set_tensor(Value& constant, const at::Tensor& tensor, DType dtype) {
  QUENCH_CHECK(!constant.producer_ && !constant.is_input_, "'", constant.name_, "' is not a constant");
  constant.tensor_ = std::make_shared<const at::Tensor>(tensor);
  constant.type_ = TypeInfo::tensor(dtype, dims_of(tensor));
  constant.contents.reset();
  changed();
}

std::vector<std::string> Graph::default_output_names(const std::string& name, int count) const {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(unique_name(i == 0 ? name : concat(name, ":", i)));
  return names;
}

Node& Graph::place(std::list<std::unique_ptr<Node>>::iterator at, const std::string& op, const std::string& name,
                   const std::vector<Value*>& inputs, const std::vector<std::string>& output_names) {
  auto position = nodes_.insert(at, std::make_unique<Node>());
  Node& node = **position;
  node.position_ = position;
  node.op_ = op;
  node.name_ = name;
  for (int i = 1; nodes_by_name_.contains(node.name_); ++i) node.name_ = concat(name, "_", i);
  nodes_by_name_[node.name_] = &node;
  set_inputs(node, inputs);
  for (const std::string& output : output_names) add_node_output(node, output);
  return node;
}

Node& Graph::add(const std::string& op, const std::string& name, const std::vector<Value*>& inputs, int outputs) {
  return place(nodes_.end(), op, name, inputs, default_output_names(name, outputs));
}

Node& Graph::add(const std::string& op, const std::string& name, const std::vector<Value*>& inputs,
                 const std::vector<std::string>& output_names) {
  return place(nodes_.end(), op, name, inputs, output_names);
}

Node& Graph::insert_before(Node& at, const std::string& op, const std::string& name, const std::vector<Value*>& inputs,
                           int outputs) {
  return place(at.position_, op, name, inputs, default_output_names(name, outputs));
}

Node& Graph::insert_after(Node& at, const std::string& op, const std::string& name, const std::vector<Value*>& inputs,
                          int outputs) {
  return place(std::next(at.position_), op, name, inputs, default_output_names(name, outputs));
}

void Graph::unlink(Value* value, Node& node, int slot) {
  if (value) std::erase(value->uses_, Value::Use{&node, slot});
}

void Graph::set_input(Node& node, int slot, Value* value) {
  const auto index = static_cast<std::size_t>(slot);
  if (index == node.inputs_.size()) node.inputs_.push_back(nullptr);
  unlink(node.inputs_.at(index), node, slot);
  node.inputs_[index] = value;
  if (value) value->uses_.push_back({&node, slot});
  changed();
}

void Graph::set_inputs(Node& node, const std::vector<Value*>& inputs) {
  for (std::size_t i = 0; i < node.inputs_.size(); ++i) unlink(node.inputs_[i], node, static_cast<int>(i));
  node.inputs_.clear();
  changed();
  for (std::size_t i = 0; i < inputs.size(); ++i) set_input(node, static_cast<int>(i), inputs[i]);
}

void Graph::set_op(Node& node, const std::string& op) {
  node.op_ = op;
  changed();
}

Value* Graph::add_node_output(Node& node, const std::string& name) {
  Value* value = name.empty() ? nullptr : &add_value(name);
  if (value) {
    value->producer_ = &node;
    value->output_index_ = static_cast<int>(node.outputs_.size());
  }
  node.outputs_.push_back(value);
  changed();
  return value;
}

void Graph::replace_uses(Value& from, Value& to) {
  const std::vector<Value::Use> uses = from.uses_;
  for (const Value::Use& use : uses)
    if (use.node != to.producer_) set_input(*use.node, use.slot, &to);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i] == &from) set_output(static_cast<int>(i), to);
}

void Graph::add_output(Value& value) {
  outputs_.push_back(&value);
  ++value.graph_outputs_;
  changed();
}

void Graph::set_output(int index, Value& value) {
  Value*& output = outputs_.at(static_cast<std::size_t>(index));
  --output->graph_outputs_;
  output = &value;
  ++value.graph_outputs_;
  changed();
}

void Graph::clear_outputs() {
  for (Value* value : outputs_) --value->graph_outputs_;
  outputs_.clear();
  changed();
}

void Graph::rename(Value& value, const std::string& name) {
  if (name == value.name_) return;
  QUENCH_CHECK(!name.empty() && !values_.contains(name), "cannot rename '", value.name_, "': the name '", name,
               "' is taken");
  auto entry = values_.extract(value.name_);
  entry.key() = name;
  value.name_ = name;
  values_.insert(std::move(entry));
  changed();
}

namespace {

void check_unused(const Node& node, const Value& output) {
  QUENCH_CHECK(output.uses().empty(), "cannot erase ", node.where(), ": its output '", output.name(), "' is used by ",
               output.uses().front().node->where());
  QUENCH_CHECK(!output.is_graph_output(), "cannot erase ", node.where(), ": its output '", output.name(),
               "' is an output of the graph");
}

}  // namespace

void Graph::drop_last_output(Node& node) {
  const Value* output = node.outputs_.back();
  if (output) check_unused(node, *output);
  node.outputs_.pop_back();
  if (output) values_.erase(std::string(output->name_));
  changed();
}

void Graph::erase(Node& node) {
  for (const Value* output : node.outputs_)
    if (output) check_unused(node, *output);
  set_inputs(node, {});
  for (const Value* output : node.outputs_)
    if (output) values_.erase(std::string(output->name_));
  nodes_by_name_.erase(node.name_);
  nodes_.erase(node.position_);
  changed();
}

void Graph::erase(Value& value) {
  QUENCH_CHECK(!value.producer_, "cannot erase '", value.name_, "': ", value.producer_->where(), " makes it");
  QUENCH_CHECK(value.uses_.empty(), "cannot erase '", value.name_, "': it is used by ",
               value.uses_.front().node->where());
  QUENCH_CHECK(!value.is_graph_output(), "cannot erase '", value.name_, "': it is an output of the graph");
  std::erase(inputs_, &value);
  values_.erase(std::string(value.name_));
  changed();
}

void Graph::move_before(Node& node, Node& at) {
  nodes_.splice(at.position_, nodes_, node.position_);
  changed();
}

}  // namespace quench
