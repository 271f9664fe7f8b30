// Node and Value: typed access to attributes, and the small accessors that can fail.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/graph.h"

namespace quench {
namespace {

const char* kind_of(const Attr& attr) {
  static constexpr const char* kKinds[] = {
      "an integer",         "a float",          "a string",          "a tensor",          "a graph",         "a type",
      "a list of integers", "a list of floats", "a list of strings", "a list of tensors", "a list of graphs"};
  return kKinds[attr.index()];
}

template <typename T>
const T* find_attr(const Node& node, const std::string& name) {
  auto at = node.attrs.find(name);
  if (at == node.attrs.end()) return nullptr;
  if (const T* value = std::get_if<T>(&at->second)) return value;
  fail(node.where(), ": attribute '", name, "' is ", kind_of(at->second), ", expected ", kind_of(Attr(T())));
}

template <typename T>
T get_attr(const Node& node, const std::string& name, T fallback) {
  if (const T* value = find_attr<T>(node, name)) return *value;
  return fallback;
}

template <typename T>
const T& require_attr(const Node& node, const std::string& name) {
  const T* value = find_attr<T>(node, name);
  QUENCH_CHECK(value, node.where(), ": attribute '", name, "' is missing");
  return *value;
}

}  // namespace

TensorAttr make_tensor_attr(const at::Tensor& tensor) { return make_tensor_attr(tensor, dtype_of(tensor)); }

TensorAttr make_tensor_attr(const at::Tensor& tensor, DType dtype) {
  return {std::make_shared<const at::Tensor>(tensor), dtype};
}

const Dims& Value::dims() const {
  QUENCH_CHECK(has_rank(), "the rank of '", name_, "' is not known");
  return *type_.dims;
}

const at::Tensor& Value::tensor() const {
  QUENCH_CHECK(tensor_, "'", name_, "' is not a constant");
  return *tensor_;
}

Value* Node::input(int slot) const {
  return slot >= 0 && slot < static_cast<int>(inputs_.size()) ? inputs_[static_cast<std::size_t>(slot)] : nullptr;
}

Value& Node::output(int index) const {
  const auto count = static_cast<int>(outputs_.size());
  QUENCH_CHECK(index >= 0 && index < count, where(), " has no output ", index, "; it has ", count);
  Value* value = outputs_[static_cast<std::size_t>(index)];
  QUENCH_CHECK(value, where(), " leaves out its output ", index);
  return *value;
}

std::int64_t Node::get_int(const std::string& attr, std::int64_t fallback) const {
  return get_attr(*this, attr, fallback);
}
double Node::get_float(const std::string& attr, double fallback) const { return get_attr(*this, attr, fallback); }
std::string Node::get_string(const std::string& attr, const std::string& fallback) const {
  return get_attr(*this, attr, fallback);
}
std::vector<std::int64_t> Node::get_ints(const std::string& attr, std::vector<std::int64_t> fallback) const {
  return get_attr(*this, attr, std::move(fallback));
}
std::vector<double> Node::get_floats(const std::string& attr, std::vector<double> fallback) const {
  return get_attr(*this, attr, std::move(fallback));
}
std::vector<std::string> Node::get_strings(const std::string& attr, std::vector<std::string> fallback) const {
  return get_attr(*this, attr, std::move(fallback));
}
std::int64_t Node::require_int(const std::string& attr) const { return require_attr<std::int64_t>(*this, attr); }
std::vector<std::int64_t> Node::require_ints(const std::string& attr) const {
  return require_attr<std::vector<std::int64_t>>(*this, attr);
}
const TensorAttr& Node::require_tensor(const std::string& attr) const { return require_attr<TensorAttr>(*this, attr); }
const Graph& Node::require_graph(const std::string& attr) const {
  const GraphPtr& graph = require_attr<GraphPtr>(*this, attr);
  QUENCH_CHECK(graph, where(), ": attribute '", attr, "' holds no graph");
  return *graph;
}

std::string Node::where() const { return concat("node '", name_, "' (", op_, ")"); }

}  // namespace quench
