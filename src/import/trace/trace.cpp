// The only file that knows the tracer's own types. LibTorch records a call for every operator of the
// dispatcher; sizes read in C++ (`x.size(0)`) leave plain numbers behind.
#include "import/trace/trace.h"

#include <ATen/ATen.h>
#include <ATen/TracerMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/library.h>

#include <algorithm>
#include <unordered_map>

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
  const at::Tensor distinct = [&] {
    const Untraced untraced;
    return at::alias(input);
  }();
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

// What is known about the values of the trace being recorded, by their numbers: addresses are reused.
thread_local std::unordered_map<std::size_t, bool> known_dependences;

// Branches and loops that are left in a trace depend on data themselves; so do the inputs of their bodies.
bool is_data(const jit::Value& value) {
  const jit::Node* node = value.node();
  const bool in_body = node->owningBlock() != node->owningGraph()->block();
  return node->kind() == c10::prim::If || node->kind() == c10::prim::Loop ||
         (node->kind() == c10::prim::Param && (in_body || value.offset() < input_count));
}

// Whether a value depends on an input's elements. A number made from sizes, as a tensor without dims, does
// not: PyTorch's own traces compute sizes that way.
bool depends_on_inputs(const jit::Value* value) {
  std::vector<const jit::Value*> open = {value};
  while (!open.empty()) {
    const jit::Value* one = open.back();
    const std::size_t before = open.size();
    bool depends = is_data(*one);
    for (const jit::Value* input : one->node()->inputs()) {
      const auto known = known_dependences.find(input->unique());
      if (known == known_dependences.end()) open.push_back(input);
      depends = depends || (known != known_dependences.end() && known->second);
    }
    if (open.size() > before && !depends) continue;  // those first
    open.resize(before - 1);
    known_dependences[one->unique()] = depends;
  }
  return known_dependences.at(value->unique());
}

// Code that reads an element bases a decision on it that no trace can see. (at::equal is let through: LibTorch's
// own MultiheadAttention uses it to detect self-attention.)
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

  TraceBlock read_block(const jit::Block& block) {
    TraceBlock result;
    result.begin = trace_.nodes.size();
    for (const jit::Value* input : block.inputs()) result.inputs.push_back(number(input));
    for (const jit::Node* node : block.nodes()) read(*node);
    for (const jit::Value* output : block.outputs()) result.outputs.push_back(number(output));
    result.end = trace_.nodes.size();
    return result;
  }

  void read(const jit::Node& node) {
    TraceNode result;
    result.kind = node.kind().toQualString();
    for (const jit::Value* input : node.inputs()) result.inputs.push_back(number(input));
    const std::size_t place = trace_.nodes.size();
    trace_.nodes.emplace_back();
    for (const jit::Block* block : node.blocks()) result.blocks.push_back(read_block(*block));
    for (const jit::Value* output : node.outputs()) result.outputs.push_back(number(output));
    if (const c10::FunctionSchema* schema = node.maybeSchema())
      for (const c10::Argument& argument : schema->arguments()) result.arg_names.push_back(argument.name());
    if (node.kind() == c10::prim::Constant) {
      const std::optional<c10::IValue> value = jit::toIValue(node.output());
      QUENCH_CHECK(value, "the trace holds a constant that cannot be read");
      result.constant = constant_of(*value);
    }
    trace_.nodes[place] = std::move(result);
  }

  Trace trace_;
  std::unordered_map<const jit::Value*, int> numbers_;
};

// It writes into an argument, does something only its library knows, or has bodies that may.
bool has_effect(const TraceNode& node) {
  const bool known = node.kind.starts_with("aten::") || node.kind.starts_with("prim::");
  const bool in_place = node.kind.ends_with("_") && !node.kind.ends_with("__");
  return !known || in_place || !node.blocks.empty() ||
         std::count(node.arg_names.begin(), node.arg_names.end(), "out") > 0;
}

// Which values some node, body or the whole hands on; nodes are looked at from the last to the first.
std::vector<bool> read_nodes(const Trace& trace) {
  std::vector<bool> read(trace.values.size()), kept(trace.nodes.size());
  const auto mark = [&](const std::vector<int>& values) {
    for (const int value : values) read[static_cast<std::size_t>(value)] = true;
  };
  mark(trace.outputs);
  for (const TraceNode& node : trace.nodes)
    for (const TraceBlock& block : node.blocks) mark(block.outputs);
  for (std::size_t i = trace.nodes.size(); i-- > 0;) {
    const TraceNode& node = trace.nodes[i];
    kept[i] = has_effect(node) || std::any_of(node.outputs.begin(), node.outputs.end(),
                                              [&](int output) { return read[static_cast<std::size_t>(output)]; });
    if (kept[i]) mark(node.inputs);
  }
  return kept;
}

// Nodes whose results nothing reads: sizes that were computed in tensors and read as numbers.
void remove_unread(Trace& trace) {
  const std::vector<bool> kept = read_nodes(trace);
  std::vector<std::size_t> place = {0};  // where a node goes
  for (const bool keep : kept) place.push_back(place.back() + (keep ? 1 : 0));
  std::vector<TraceNode> nodes;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    nodes.push_back(std::move(trace.nodes[i]));
    for (TraceBlock& block : nodes.back().blocks) {
      block.begin = place[block.begin];
      block.end = place[block.end];
    }
  }
  trace.nodes = std::move(nodes);
}

}  // namespace

Untraced::Untraced() : resume_(jit::tracer::pauseTracing()) {}
Untraced::~Untraced() { resume_(); }

bool hangs_on_inputs(const at::Tensor& tensor) {
  if (!jit::tracer::isTracing() || !jit::tracer::getTracingState()->hasValue(tensor)) return false;
  const bool own =
      std::any_of(readable->begin(), readable->end(), [&](const auto& one) { return one.is_same(tensor); });
  return !own && depends_on_inputs(jit::tracer::getValueTrace(tensor));
}

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
  known_dependences.clear();
  const auto recorded = jit::tracer::trace(stack, traced, [](const at::Tensor&) { return std::string(); });
  Trace trace = Reader(*recorded.first->graph).take();
  remove_unread(trace);
  trace.results = std::move(results);
  return trace;
}

}  // namespace quench
