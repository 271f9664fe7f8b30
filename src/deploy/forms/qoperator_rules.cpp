#include "deploy/forms/qoperator_rules.h"

#include <ATen/ATen.h>

#include <set>

#include "graph/tensor_types.h"
#include "quant/accumulator.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Result = std::optional<QuantizedOperator>;

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kFloat).reshape(-1).contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

void append(std::vector<Value*>& inputs, const CodedValue& value) {
  inputs.insert(inputs.end(), {value.codes, value.scale, value.zero_point});
}

// One scale each, and one type for all.
std::optional<std::vector<CodedValue>> coded_inputs(const Node& node, const CodedValue& output) {
  std::vector<CodedValue> all;
  for (const Value* input : node.inputs()) {
    const std::optional<CodedValue> one = coded(input);
    if (!one || !one->is_per_tensor() || one->dtype() != output.dtype()) return {};
    all.push_back(*one);
  }
  return all;
}

// Runtimes multiply uint8 with either type, int8 with int8 only.
bool can_multiply(const CodedValue& x, const CodedValue& weight, const CodedValue& output) {
  return x.is_per_tensor() && x.dtype() == output.dtype() &&
         (x.dtype() == DType::kUint8 || weight.dtype() == DType::kInt8);
}

struct Bias {
  bool has_form = true;
  Value* codes = nullptr;  // null if there is none
};

// At s_x * s_w: as it is, or made from a float constant.
Bias bias_of(Graph& graph, Value* bias, const CodedValue& x, const CodedValue& weight) {
  if (!bias) return {};
  const at::Tensor step = x.scale->tensor() * weight.scale->tensor();
  if (const Node* node = bias->producer(); node && node->op() == "DequantizeLinear") {
    const bool fits = node->input(0)->dtype() == DType::kInt32 && node->input(0)->is_constant() &&
                      at::equal(node->input(1)->tensor(), step);
    return {fits, fits ? node->input(0) : nullptr};
  }
  if (!bias->is_constant() || bias->dtype() != DType::kFloat) return {false, nullptr};
  const std::vector<std::int32_t> codes =
      quantize_bias(floats_of(bias->tensor()), x.scale->tensor().item<float>(), floats_of(weight.scale->tensor()));
  return {true, &graph.add_constant(graph.unique_name(bias->name() + "_quantized"),
                                    at::tensor(at::ArrayRef<std::int32_t>(codes)))};
}

Result conv(Graph& graph, const Node& node, const CodedValue& y) {
  const auto x = coded(node.input(0)), weight = coded(node.input(1));
  if (!x || !weight || !weight->codes->is_constant() || !can_multiply(*x, *weight, y)) return {};
  if (!weight->is_per_tensor() && weight->axis != 0) return {};
  const Bias bias = bias_of(graph, node.input(2), *x, *weight);
  if (!bias.has_form) return {};
  QuantizedOperator made{"QLinearConv", {}, node.attrs};
  append(made.inputs, *x);
  append(made.inputs, *weight);
  made.inputs.insert(made.inputs.end(), {y.scale, y.zero_point});
  if (bias.codes) made.inputs.push_back(bias.codes);
  return made;
}

Result gemm(Graph& graph, const Node& node, const CodedValue& y) {
  const auto x = coded(node.input(0)), weight = coded(node.input(1));
  if (!x || !weight || !weight->codes->is_constant() || !can_multiply(*x, *weight, y)) return {};
  const std::int64_t columns = node.get_int("transB", 0) != 0 ? 0 : 1;
  const bool plain = node.get_float("alpha", 1.0) == 1.0 && node.get_float("beta", 1.0) == 1.0;
  if (!plain || (!weight->is_per_tensor() && weight->axis != columns)) return {};
  const Value* c = node.input(2);
  const std::int64_t outputs = weight->codes->tensor().size(columns);
  if (c && c->has_rank() && (c->rank() != 1 || c->dims()[0] != Dim(outputs))) return {};
  const Bias bias = bias_of(graph, node.input(2), *x, *weight);
  if (!bias.has_form) return {};
  QuantizedOperator made{"com.microsoft.QGemm", {}, {}};
  for (const char* flag : {"transA", "transB"}) made.attrs[flag] = node.get_int(flag, 0);
  append(made.inputs, *x);
  append(made.inputs, *weight);
  made.inputs.insert(made.inputs.end(), {bias.codes, y.scale, y.zero_point});
  return made;
}

Result mat_mul(Graph&, const Node& node, const CodedValue& y) {
  const auto a = coded(node.input(0)), b = coded(node.input(1));
  if (!a || !b || !can_multiply(*a, *b, y)) return {};
  const bool by_column = b->codes->has_rank() && b->codes->rank() == 2 && b->axis == 1;
  if (!b->is_per_tensor() && !by_column) return {};
  QuantizedOperator made{"QLinearMatMul", {}, {}};
  append(made.inputs, *a);
  append(made.inputs, *b);
  made.inputs.insert(made.inputs.end(), {y.scale, y.zero_point});
  return made;
}

// Inputs, then the output's scale and zero point.
Result with_inputs_first(const char* op, const Node& node, const CodedValue& y, std::map<std::string, Attr> attrs) {
  const auto inputs = coded_inputs(node, y);
  if (!inputs) return {};
  QuantizedOperator made{op, {}, std::move(attrs)};
  for (const CodedValue& input : *inputs) append(made.inputs, input);
  made.inputs.insert(made.inputs.end(), {y.scale, y.zero_point});
  return made;
}

Result add(Graph&, const Node& node, const CodedValue& y) {
  return with_inputs_first("com.microsoft.QLinearAdd", node, y, {});
}

Result mul(Graph&, const Node& node, const CodedValue& y) {
  return with_inputs_first("com.microsoft.QLinearMul", node, y, {});
}

Result sigmoid(Graph&, const Node& node, const CodedValue& y) {
  return with_inputs_first("com.microsoft.QLinearSigmoid", node, y, {});
}

Result leaky_relu(Graph&, const Node& node, const CodedValue& y) {
  return with_inputs_first("com.microsoft.QLinearLeakyRelu", node, y, {{"alpha", node.get_float("alpha", 0.01)}});
}

Result concat_codes(Graph&, const Node& node, const CodedValue& y) {
  const auto inputs = coded_inputs(node, y);
  if (!inputs) return {};
  QuantizedOperator made{"com.microsoft.QLinearConcat", {y.scale, y.zero_point}, node.attrs};
  for (const CodedValue& input : *inputs) append(made.inputs, input);
  return made;
}

Result global_average_pool(Graph&, const Node& node, const CodedValue& y) {
  return with_inputs_first("com.microsoft.QLinearGlobalAveragePool", node, y, {{"channels_last", std::int64_t{0}}});
}

Result average_pool(Graph&, const Node& node, const CodedValue& y) {
  static const std::set<std::string> known = {"auto_pad",     "ceil_mode", "count_include_pad",
                                              "kernel_shape", "pads",      "strides"};
  std::map<std::string, Attr> attrs = node.attrs;
  if (const auto dilations = node.get_ints("dilations", {});
      std::all_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d == 1; }))
    attrs.erase("dilations");
  for (const auto& [name, value] : attrs)
    if (!known.contains(name)) return {};
  return with_inputs_first("com.microsoft.QLinearAveragePool", node, y, std::move(attrs));
}

}  // namespace

bool CodedValue::is_per_tensor() const { return scale->tensor().dim() == 0; }

std::optional<CodedValue> coded(const Value* value) {
  const Node* node = value ? value->producer() : nullptr;
  if (!node || node->op() != "DequantizeLinear" || !node->input(2)) return {};
  const CodedValue result{node->input(0), node->input(1), node->input(2), node->get_int("axis", 1)};
  const bool is_8_bit = result.dtype() == DType::kInt8 || result.dtype() == DType::kUint8;
  if (!is_8_bit || !result.scale->is_constant() || node->has("block_size")) return {};
  return result;
}

QuantizedRule quantized_rule(const std::string& op) {
  static const std::map<std::string, QuantizedRule> rules = {{"Conv", conv},
                                                             {"Gemm", gemm},
                                                             {"MatMul", mat_mul},
                                                             {"Add", add},
                                                             {"Mul", mul},
                                                             {"Sigmoid", sigmoid},
                                                             {"LeakyRelu", leaky_relu},
                                                             {"Concat", concat_codes},
                                                             {"GlobalAveragePool", global_average_pool},
                                                             {"AveragePool", average_pool}};
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

bool runs_on_codes(const Node& node) {
  static const std::set<std::string> ops = {"MaxPool", "Flatten",   "Reshape", "Transpose",
                                            "Squeeze", "Unsqueeze", "Slice",   "Gather"};
  return ops.contains(node.op()) && moves_codes(node) && node.outputs().size() == 1;
}

}  // namespace quench
