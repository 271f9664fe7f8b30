#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quant/reference.h"
#include "quench/executor.h"
#include "quench/op.h"

namespace quench {

// A graph of one operator on codes.
struct OneLayer {
  Graph graph;
  std::vector<Value*> inputs;
  std::vector<std::string> schemes;
  std::vector<RtValue> fed;

  Value& constant(const at::Tensor& tensor) { return graph.add_constant(graph.unique_name("c"), tensor); }
  void params(const QType& type) {
    inputs.push_back(&constant(at::tensor(at::ArrayRef<float>(type.params.scale))));
    inputs.push_back(
        &constant(store_codes(at::tensor(at::ArrayRef<std::int32_t>(type.params.zero_point)), type.scheme)));
    schemes.push_back(type.scheme.text());
  }
  void operand(const at::Tensor& codes, const QType& type, bool is_constant = false) {
    if (is_constant) {
      inputs.push_back(&constant(codes));
    } else {
      fed.emplace_back(codes);
      inputs.push_back(&graph.add_input(graph.unique_name("x"), fed.back().type()));
    }
    params(type);
  }
  Node& node(const std::string& op, const std::map<std::string, Attr>& attrs = {}) {
    Node& made = graph.add(op, "layer", inputs);
    made.attrs = attrs;
    made.attrs["schemes"] = schemes;
    graph.add_output(made.output());
    return made;
  }
  // What evaluation gives, held against the shape function.
  at::Tensor run() {
    infer_shapes(graph);
    const RtValue y = Executor(graph).run(fed).at(0);
    EXPECT_EQ(graph.outputs()[0]->type().text(), y.type().text());
    return y.tensor();
  }
};

}  // namespace quench
