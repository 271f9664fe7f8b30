// Copying a graph: new nodes and values, tensors shared or copied; bodies are copied with their node.
#include <ATen/ATen.h>

#include "quench/graph.h"

namespace quench {
namespace {

Attr copy_attr(const Attr& attr, bool copy_tensors) {
  const auto copy_tensor = [&](const TensorAttr& from) {
    return copy_tensors && from.tensor ? make_tensor_attr(from.tensor->detach().clone(), from.dtype) : from;
  };
  const auto copy_body = [&](const GraphPtr& from) {
    return from ? std::make_shared<Graph>(copy_tensors ? from->clone() : *from) : from;
  };
  if (const auto* tensor = std::get_if<TensorAttr>(&attr)) return copy_tensor(*tensor);
  if (const auto* body = std::get_if<GraphPtr>(&attr)) return copy_body(*body);
  if (const auto* tensors = std::get_if<std::vector<TensorAttr>>(&attr)) {
    std::vector<TensorAttr> copies;
    for (const TensorAttr& tensor : *tensors) copies.push_back(copy_tensor(tensor));
    return copies;
  }
  if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attr)) {
    std::vector<GraphPtr> copies;
    for (const GraphPtr& body : *bodies) copies.push_back(copy_body(body));
    return copies;
  }
  return attr;
}

}  // namespace

void Graph::copy_from(const Graph& other, bool copy_tensors) {
  name = other.name;
  doc = other.doc;
  metadata = other.metadata;
  source = other.source;
  const auto mapped = [&](const Value* value) { return value ? find_value(value->name_) : nullptr; };
  for (const Value* input : other.inputs_) add_input(input->name_, input->type_).contents = input->contents;
  for (const auto& [key, from] : other.values_) {
    if (!from->is_constant()) continue;
    Value& to = add_constant(key, copy_tensors ? from->tensor().detach().clone() : from->tensor(), from->dtype());
    to.is_parameter_ = from->is_parameter_;
    to.contents = from->contents;
  }
  for (const auto& from : other.nodes_) {
    std::vector<Value*> inputs;
    for (const Value* input : from->inputs_) inputs.push_back(mapped(input));
    std::vector<std::string> outputs;
    for (const Value* output : from->outputs_) outputs.push_back(output ? output->name_ : "");
    Node& to = place(nodes_.end(), from->op_, from->name_, inputs, outputs);
    to.metadata = from->metadata;
    to.captures = from->captures;
    to.frozen = from->frozen;
    for (const auto& [key, attr] : from->attrs) to.attrs[key] = copy_attr(attr, copy_tensors);
    to.set_memo(from->memo());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!from->outputs_[i]) continue;
      to.outputs_[i]->type_ = from->outputs_[i]->type_;
      to.outputs_[i]->contents = from->outputs_[i]->contents;
    }
  }
  for (const Value* output : other.outputs_) add_output(*mapped(output));
}

}  // namespace quench
