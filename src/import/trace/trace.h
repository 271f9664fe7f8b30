// What LibTorch's tracer recorded, without its types: the nodes in order, values by number. Two traces
// of one module are alike if their nodes are; their sizes and constants may differ. A trace of a module has no
// branches and loops; the interpreter of TorchScript programs (torchscript/interpreter.h) records those too.
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

// A body of a prim::If (then, else; no inputs) or a prim::Loop (inputs: turn, states; outputs: condition, states). Its
// nodes are those of the trace from `begin` to `end`, right after the one whose body it is.
struct TraceBlock {
  std::vector<int> inputs, outputs;
  std::size_t begin = 0, end = 0;
};

struct TraceNode {
  std::string kind;                    // "aten::relu_", "prim::Constant"
  std::vector<int> inputs, outputs;    // numbers of values
  std::vector<std::string> arg_names;  // of the operator's schema, one per input where there is one
  TraceConstant constant;              // of a prim::Constant
  std::vector<TraceBlock> blocks;
  std::size_t end(std::size_t own) const { return blocks.empty() ? own + 1 : blocks.back().end; }  // what follows it
};

struct Trace {
  std::vector<TraceValue> values;
  std::vector<TraceNode> nodes;
  std::vector<int> inputs, outputs;
  std::vector<at::Tensor> results;  // what the traced function returned
};

using TracedFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Records `function(inputs)`. `state` are the tensors that it uses besides them (parameters, buffers):
// they become further inputs of the trace, after `inputs`.
Trace record_trace(const TracedFunction& function, const std::vector<at::Tensor>& inputs,
                   const std::vector<at::Tensor>& state);

// While it lives nothing is recorded: for what is not part of the traced function.
class Untraced {
 public:
  Untraced();
  ~Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  std::function<void()> resume_;
};

// While record_trace runs: whether the tensor depends on an input's elements.
bool hangs_on_inputs(const at::Tensor& tensor);

}  // namespace quench
