// A graph of one node, and what lowering makes of it. Constants are given as tensors.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "deploy/onnx/lower.h"
#include "support/describe.h"

namespace quench {

using Ints = std::vector<std::int64_t>;
inline Attr integer(std::int64_t value) { return value; }
inline Attr text(const char* value) { return std::string(value); }
inline at::Tensor ints(std::initializer_list<std::int64_t> values) { return at::tensor(values, at::kLong); }
inline at::Tensor floats(std::initializer_list<float> values) { return at::tensor(values); }

// Nothing, a constant, or an input of the graph (float unless a type is given).
struct In {
  std::variant<std::monostate, at::Tensor, TypeInfo> what;
  In() = default;
  In(const at::Tensor& tensor) : what(tensor) {}                             // NOLINT
  In(Dims dims) : what(TypeInfo::tensor(DType::kFloat, std::move(dims))) {}  // NOLINT
  In(DType dtype) : what(TypeInfo::tensor(dtype)) {}                         // NOLINT
};

struct OneNode {
  Graph graph;
  Node* node = nullptr;

  // Inputs are named x, y, z ...; outputs out, out1, ...
  OneNode(const std::string& op, const std::vector<In>& inputs, std::map<std::string, Attr> attrs = {},
          int outputs = 1) {
    std::vector<Value*> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name(1, static_cast<char>("xyzuvw"[i]));
      Value* value = nullptr;
      if (const auto* tensor = std::get_if<at::Tensor>(&inputs[i].what)) value = &graph.add_constant(name, *tensor);
      if (const auto* type = std::get_if<TypeInfo>(&inputs[i].what)) value = &graph.add_input(name, *type);
      values.push_back(value);
    }
    std::vector<std::string> names{"out"};
    for (int i = 1; i < outputs; ++i) names.push_back(concat("out", i));
    node = &graph.add(op, "n", values, names);
    node->attrs = std::move(attrs);
    for (Value* output : node->outputs()) graph.add_output(*output);
  }

  std::string lowered_to(std::int64_t opset) {
    lower_graph(graph, opset);
    return describe(graph);
  }
  std::string refused_by(std::int64_t opset) {
    return message_of([&] { lower_graph(graph, opset); });
  }
};

}  // namespace quench
