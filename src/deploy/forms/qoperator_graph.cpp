#include "deploy/forms/qoperator_graph.h"

#include <ATen/ATen.h>

#include "deploy/forms/qoperator_rules.h"
#include "graph/tensor_types.h"
#include "ops/clamp.h"
#include "passes/rewrite.h"
#include "quant/code_tensor.h"
#include "quant/requantize.h"
#include "quench/error.h"
#include "quench/pass.h"

namespace quench {
namespace {

// What quantizes the output of an operator: directly, or after a Relu or Clip.
struct OutputQuantizer {
  Node* clamp = nullptr;
  Node* quantize = nullptr;
  CodedValue codes;
};

bool is_plain_quantize(const Node* node) {
  return node && node->op() == "QuantizeLinear" && node->input(2) && node->input(1)->is_constant() &&
         node->input(1)->tensor().dim() == 0 &&
         (node->input(2)->dtype() == DType::kInt8 || node->input(2)->dtype() == DType::kUint8);
}

std::optional<OutputQuantizer> output_quantizer(const Node& node) {
  OutputQuantizer found;
  found.quantize = only_user(node.output());
  if (found.quantize && clamp_of(*found.quantize).known && found.quantize->input(0) == &node.output()) {
    found.clamp = found.quantize;
    found.quantize = only_user(found.clamp->output());
  }
  if (!is_plain_quantize(found.quantize)) return {};
  found.codes = {&found.quantize->output(), found.quantize->input(1), found.quantize->input(2)};
  return found;
}

OutputCodes all_codes(const CodedValue& value) {
  const CodeRange all = code_range(8, is_signed(value.dtype()));
  return {value.scale->tensor().item<float>(), value.zero_point->tensor().item<int>(), static_cast<int>(all.low),
          static_cast<int>(all.high)};
}

// Rounding is monotone: clamping before it, or the codes after it, is the same.
void clamp_codes(Graph& graph, const OutputQuantizer& output) {
  const Clamp clamp = clamp_of(*output.clamp);
  const OutputCodes all = all_codes(output.codes);
  const int low = all.nearest(static_cast<float>(clamp.low) / all.scale);
  const int high = all.nearest(static_cast<float>(clamp.high) / all.scale);
  Node& quantize = *output.quantize;
  if (low == all.low && high == all.high) return;
  const auto bound = [&](int code, const char* which) {
    const auto options = at::TensorOptions().dtype(scalar_type_of(output.codes.dtype()));
    return &graph.add_constant(graph.unique_name(quantize.name() + which), at::full({}, code, options));
  };
  Node& clip = graph.insert_after(quantize, "Clip", graph.unique_name(quantize.name() + "_clip"),
                                  {&quantize.output(), bound(low, "_min"), bound(high, "_max")});
  clip.output().set_type(quantize.output().type());
  graph.replace_uses(quantize.output(), clip.output());
}

// The QuantizeLinear becomes the operator, so that the readers of its codes need not change.
bool replace(Graph& graph, Node& node) {
  const QuantizedRule rule = quantized_rule(node.op());
  const std::optional<OutputQuantizer> output = rule ? output_quantizer(node) : std::nullopt;
  if (!output) return false;
  std::optional<QuantizedOperator> made = rule(graph, node, output->codes);
  if (!made) return false;
  graph.set_inputs(*output->quantize, made->inputs);
  graph.set_op(*output->quantize, made->op);
  output->quantize->attrs = std::move(made->attrs);
  if (output->clamp) {
    clamp_codes(graph, *output);
    graph.erase(*output->clamp);
  }
  graph.erase(node);
  return true;
}

bool same_codes(const CodedValue& a, const CodedValue& b) {
  return a.dtype() == b.dtype() && bit_equal(a.scale->tensor(), b.scale->tensor()) &&
         bit_equal(a.zero_point->tensor(), b.zero_point->tensor());
}

// DequantizeLinear -> MaxPool -> QuantizeLinear with one scale: the MaxPool of the codes.
void move_codes(Graph& graph, Node& node) {
  const std::optional<CodedValue> input = coded(node.input(0));
  const std::optional<OutputQuantizer> output = output_quantizer(node);
  if (!input || !output || output->clamp || !same_codes(*input, output->codes)) return;
  graph.set_input(node, 0, input->codes);
  node.output().set_type(output->quantize->output().type());
  graph.replace_uses(output->quantize->output(), node.output());
  graph.erase(*output->quantize);
}

at::Tensor shifted(const at::Tensor& codes) { return (codes.to(at::kInt) + 128).to(at::kByte); }

void shift_constant(Graph& graph, Value* value) {
  if (value && value->is_constant() && value->dtype() == DType::kInt8)
    graph.set_tensor(*value, shifted(value->tensor()), DType::kUint8);
}

}  // namespace

int use_quantized_operators(Graph& qdq, const std::set<std::string>& only) {
  std::vector<Node*> nodes;
  for (const auto& node : qdq.nodes())
    if (quantized_rule(node->op()) && (only.empty() || only.contains(node->op()))) nodes.push_back(node.get());
  int replaced = 0;
  for (Node* node : nodes)
    with_context([&] { return concat("at ", node->where()); }, [&] { replaced += replace(qdq, *node) ? 1 : 0; });
  std::vector<Node*> movers;
  for (const auto& node : qdq.nodes())
    if (runs_on_codes(*node)) movers.push_back(node.get());
  for (Node* node : movers) move_codes(qdq, *node);
  qdq.sort();
  run_passes(qdq, {"eliminate_dead"});
  return replaced;
}

void shift_to_uint8(Graph& qdq) {
  for (const auto& node : qdq.nodes()) {
    const bool quantizes = node->op() == "QuantizeLinear";
    const bool clips = node->op() == "Clip" && node->output().dtype() == DType::kInt8;
    if (!quantizes && !clips && node->op() != "DequantizeLinear") continue;
    if (node->op() == "DequantizeLinear") shift_constant(qdq, node->input(0));
    if (clips) shift_constant(qdq, node->input(1));
    shift_constant(qdq, node->input(2));
    if ((quantizes || clips) && node->output().dtype() == DType::kInt8) {
      TypeInfo type = node->output().type();
      type.dtype = DType::kUint8;
      node->output().set_type(type);
    }
  }
}

}  // namespace quench
