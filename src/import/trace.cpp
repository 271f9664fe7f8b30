// The only file that knows the tracer's own types. LibTorch records a call for every operator of the
// dispatcher; sizes read in C++ (`x.size(0)`) leave plain numbers behind.
#include "import/trace.h"

#include <ATen/ATen.h>
#include <ATen/TracerMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/library.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace jit = torch::jit;
// A dispatch key that LibTorch itself leaves unused, above the tracer's. It is included only while
// record_trace runs, on its thread.
constexpr auto kTraceKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

// A dropout that does nothing returns its very input, and the tracer would take every later use of that
// input for a use of the dropout: wrong as soon as the graph trains. So the input keeps its value, and the
// dropout's result gets a tensor of its own.
template <typename Dropout>
at::Tensor distinct_dropout(const at::Tensor& input, Dropout&& dropout) {
  jit::Value* before = jit::tracer::isTracing() ? jit::tracer::getValueTrace(input) : nullptr;
  const c10::impl::ExcludeDispatchKeyGuard below(kTraceKey);
  const at::Tensor result = dropout();
  if (!before || !result.is_same(input)) return result;
  jit::Value* after = jit::tracer::getValueTrace(result);
  const auto tracing = jit::tracer::getTracingState();
  jit::tracer::setTracingState(nullptr);
  const at::Tensor distinct = at::alias(input);
  jit::tracer::setTracingState(tracing);
  jit::tracer::setValueTrace(distinct, after);
  jit::tracer::setValueTrace(input, before);
  return distinct;
}

at::Tensor traced_dropout(const at::Tensor& input, double p, bool train) {
  return distinct_dropout(input, [&] { return at::dropout(input, p, train); });
}
at::Tensor traced_feature_dropout(const at::Tensor& input, double p, bool train) {
  return distinct_dropout(input, [&] { return at::feature_dropout(input, p, train); });
}
at::Tensor traced_alpha_dropout(const at::Tensor& input, double p, bool train) {
  return distinct_dropout(input, [&] { return at::alpha_dropout(input, p, train); });
}

// The tensors that a traced function may read elements of: its state, the same in every run.
thread_local const std::vector<at::Tensor>* readable = nullptr;
thread_local std::size_t input_count = 0;  // of the traced function

// Whether an input's elements are behind a value. A number that was made of sizes, as a tensor without dims, is
// none: PyTorch's own traces compute sizes that way.
bool depends_on_inputs(const jit::Value* value) {
  std::unordered_set<const jit::Value*> seen;
  std::vector<const jit::Value*> open = {value};
  while (!open.empty()) {
    const jit::Value* one = open.back();
    open.pop_back();
    if (!seen.insert(one).second) continue;
    if (one->node()->kind() == c10::prim::Param && one->offset() < input_count) return true;
    for (const jit::Value* input : one->node()->inputs()) open.push_back(input);
  }
  return false;
}

// Whoever reads an element decides something by it that no trace can see. (at::equal is let through: LibTorch's
// own MultiheadAttention asks by it whether it is self-attention.)
void refuse_read(const at::Tensor& tensor, const char* op) {
  const bool from_outside = jit::tracer::isTracing() && at::tracer::impl::is_dispatch_enabled();
  if (!from_outside || !jit::tracer::getTracingState()->hasValue(tensor)) return;
  for (const at::Tensor& state : *readable)
    if (state.is_same(tensor)) return;
  if (tensor.dim() == 0 && !depends_on_inputs(jit::tracer::getValueTrace(tensor))) return;
  fail("the module reads an element of a tensor (aten::", op,
       ") while it runs; control flow that depends on data cannot be traced");
}

at::Scalar traced_item(const at::Tensor& tensor) {
  refuse_read(tensor, "item");
  const c10::impl::ExcludeDispatchKeyGuard below(kTraceKey);
  return at::_local_scalar_dense(tensor);
}
bool traced_is_nonzero(const at::Tensor& tensor) {
  refuse_read(tensor, "is_nonzero");
  const c10::impl::ExcludeDispatchKeyGuard below(kTraceKey);
  return at::is_nonzero(tensor);
}
TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) { m.fallback(torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericMode, m) {
  m.impl("dropout", traced_dropout);
  m.impl("feature_dropout", traced_feature_dropout);
  m.impl("alpha_dropout", traced_alpha_dropout);
  m.impl("_local_scalar_dense", traced_item);
  m.impl("item", traced_item);
  m.impl("is_nonzero", traced_is_nonzero);
}

TraceConstant constant_of(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return value.toDevice().str();
  if (value.isTensor()) return make_tensor_attr(value.toTensor());
  if (value.isIntList()) return value.toIntVector();
  if (value.isDoubleList()) return value.toDoubleVector();
  QUENCH_CHECK(value.isNone(), "the trace holds a constant of type ", value.tagKind(), ", which has no counterpart");
  return {};
}

class Reader {
 public:
  explicit Reader(const jit::Graph& graph) {
    for (const jit::Value* input : graph.inputs()) trace_.inputs.push_back(number(input));
    for (const jit::Node* node : graph.nodes()) read(*node);
    for (const jit::Value* output : graph.outputs()) trace_.outputs.push_back(number(output));
  }

  Trace take() { return std::move(trace_); }

 private:
  int number(const jit::Value* value) {
    const auto [at, added] = numbers_.try_emplace(value, static_cast<int>(trace_.values.size()));
    if (added) trace_.values.push_back(describe(*value));
    return at->second;
  }

  static TraceValue describe(const jit::Value& value) {
    TraceValue result;
    const auto type = value.type()->cast<c10::TensorType>();
    result.is_tensor = type != nullptr;
    if (!type || !type->scalarType()) return result;
    result.dtype = dtype_of(*type->scalarType());
    if (const auto sizes = type->sizes().concrete_sizes()) result.sizes = *sizes;
    return result;
  }

  void read(const jit::Node& node) {
    QUENCH_CHECK(node.blocks().empty(), "the trace holds '", node.kind().toQualString(), "', a node with a body");
    TraceNode result;
    result.kind = node.kind().toQualString();
    for (const jit::Value* input : node.inputs()) result.inputs.push_back(number(input));
    for (const jit::Value* output : node.outputs()) result.outputs.push_back(number(output));
    if (const c10::FunctionSchema* schema = node.maybeSchema())
      for (const c10::Argument& argument : schema->arguments()) result.arg_names.push_back(argument.name());
    if (node.kind() == c10::prim::Constant) {
      const std::optional<c10::IValue> value = jit::toIValue(node.output());
      QUENCH_CHECK(value, "the trace holds a constant that cannot be read");
      result.constant = constant_of(*value);
    }
    trace_.nodes.push_back(std::move(result));
  }

  Trace trace_;
  std::unordered_map<const jit::Value*, int> numbers_;
};

// It writes into an argument, or does what only its library knows.
bool has_effect(const TraceNode& node) {
  const bool known = node.kind.starts_with("aten::") || node.kind.starts_with("prim::");
  const bool in_place = node.kind.ends_with("_") && !node.kind.ends_with("__");
  return !known || in_place || std::count(node.arg_names.begin(), node.arg_names.end(), "out") > 0;
}

// Nodes whose results nothing reads: sizes that were computed in tensors and read as numbers.
void remove_unread(Trace& trace) {
  std::vector<bool> read(trace.values.size());
  for (const int output : trace.outputs) read[static_cast<std::size_t>(output)] = true;
  std::vector<TraceNode> kept;
  for (auto node = trace.nodes.rbegin(); node != trace.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](int output) { return read[static_cast<std::size_t>(output)]; });
    if (!used && !has_effect(*node)) continue;
    for (const int input : node->inputs) read[static_cast<std::size_t>(input)] = true;
    kept.push_back(std::move(*node));
  }
  trace.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace

Trace record_trace(const TracedFunction& function, const std::vector<at::Tensor>& inputs,
                   const std::vector<at::Tensor>& state) {
  jit::Stack stack(inputs.begin(), inputs.end());
  stack.insert(stack.end(), state.begin(), state.end());
  std::vector<at::Tensor> results;
  const auto traced = [&](const jit::Stack& given) {
    std::vector<at::Tensor> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back(given[i].toTensor());
    results = function(tensors);
    return jit::Stack(results.begin(), results.end());
  };
  const c10::impl::IncludeDispatchKeyGuard included(kTraceKey);
  readable = &state;
  input_count = inputs.size();
  const auto recorded = jit::tracer::trace(stack, traced, [](const at::Tensor&) { return std::string(); });
  Trace trace = Reader(*recorded.first->graph).take();
  remove_unread(trace);
  trace.results = std::move(results);
  return trace;
}

}  // namespace quench
