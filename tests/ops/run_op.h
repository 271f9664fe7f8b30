// Small builders for operator tests: one node on constants or inputs, run by the executor.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <vector>

#include "quench/error.h"
#include "quench/executor.h"
#include "quench/graph.h"
#include "quench/op.h"
#include "support/message_of.h"

namespace quench {

using Attrs = std::map<std::string, Attr>;

// A graph of one node; every input that is not none is a graph input of its own type.
inline Graph one_node(const std::string& op, const std::vector<RtValue>& inputs, const Attrs& attrs = {},
                      int outputs = 1) {
  Graph graph;
  std::vector<Value*> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(inputs[i].is_none() ? nullptr : &graph.add_input("x" + std::to_string(i), inputs[i].type()));
  Node& node = graph.add(op, "node", values, outputs);
  node.attrs = attrs;
  for (Value* output : node.outputs()) graph.add_output(*output);
  return graph;
}

inline std::vector<RtValue> run_op(const std::string& op, const std::vector<RtValue>& inputs, const Attrs& attrs = {},
                                   int outputs = 1) {
  const Graph graph = one_node(op, inputs, attrs, outputs);
  Executor executor(graph);
  std::vector<RtValue> given;
  for (const RtValue& input : inputs)
    if (!input.is_none()) given.push_back(input);
  return executor.run(given);
}

inline at::Tensor run_one(const std::string& op, const std::vector<RtValue>& inputs, const Attrs& attrs = {}) {
  return run_op(op, inputs, attrs)[0].tensor();
}

// The output types that shape inference gives when inputs have these types; constants where tensors are given.
inline Value& inferred(Graph& graph) {
  infer_shapes(graph);
  return *graph.outputs()[0];
}

inline RtValue ints(std::vector<std::int64_t> values) { return RtValue(at::tensor(values, at::kLong)); }
inline RtValue floats(std::vector<float> values) { return RtValue(at::tensor(values)); }
inline RtValue floats(std::vector<float> values, std::vector<std::int64_t> sizes) {
  return RtValue(at::tensor(values).reshape(sizes));
}

}  // namespace quench
