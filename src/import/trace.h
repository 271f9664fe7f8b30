// What LibTorch's tracer recorded, without its types: the nodes in order, values by number. Two traces
// of one module are alike when their nodes are; their sizes and constants may differ.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "quench/graph.h"

namespace quench {

using TraceConstant = std::variant<std::monostate, bool, std::int64_t, double, std::string, TensorAttr,
                                   std::vector<std::int64_t>, std::vector<double>>;

struct TraceValue {
  bool is_tensor = false;
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> sizes;
};

struct TraceNode {
  std::string kind;                    // "aten::relu_", "prim::Constant"
  std::vector<int> inputs, outputs;    // numbers of values
  std::vector<std::string> arg_names;  // of the operator's schema, one per input where there is one
  TraceConstant constant;              // of a prim::Constant
};

struct Trace {
  std::vector<TraceValue> values;
  std::vector<TraceNode> nodes;
  std::vector<int> inputs, outputs;
  std::vector<at::Tensor> results;  // what the traced function returned
};

using TracedFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Records `function(inputs)`. `state` are the tensors that it uses beside them (parameters, buffers):
// they become further inputs of the trace, after `inputs`.
Trace record_trace(const TracedFunction& function, const std::vector<at::Tensor>& inputs,
                   const std::vector<at::Tensor>& state);

}  // namespace quench
