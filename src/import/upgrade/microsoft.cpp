// ONNX Runtime's own float operators (domain com.microsoft), which its optimizer writes, as the ONNX operators that
// they stand for: later stages see a Conv where the file has a FusedConv. The domain has one version, so a rule
// takes its operator past every opset of ONNX's own (@1000) and no rule of those follows.
#include <algorithm>

#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "quench/error.h"

namespace quench {
namespace {

using Attrs = std::map<std::string, Attr>;

Value& before(Graph& graph, Node& node, const std::string& op, const std::vector<Value*>& inputs,
              const Attrs& attrs = {}) {
  Node& made = graph.insert_before(node, op, concat(node.name(), "_", op), inputs);
  made.attrs = attrs;
  return made.output();
}

void become(Graph& graph, Node& node, const std::string& op, const std::vector<Value*>& inputs, const Attrs& attrs) {
  graph.set_op(node, op);
  graph.set_inputs(node, inputs);
  node.attrs = attrs;
}

Value& required(const Node& node, int slot) {
  Value* value = node.input(slot);
  QUENCH_CHECK(value, "input ", slot, " is absent");
  return *value;
}

bool is_wanted(const Node& node, std::size_t index) {
  const Value* value = index < node.outputs().size() ? node.outputs()[index] : nullptr;
  return value && (!value->uses().empty() || value->is_graph_output());
}

void keep_outputs(Graph& graph, Node& node, std::size_t count) {
  for (std::size_t i = count; i < node.outputs().size(); ++i)
    QUENCH_CHECK(!is_wanted(node, i), "its output ", i, " is used, which has no counterpart");
  while (node.outputs().size() > count) graph.drop_last_output(node);
}

// The same operator under the name that ONNX gave it later.
template <const char* const& kOp>
void rename_operator(Graph& graph, Node& node) {
  graph.set_op(node, kOp);
}
constexpr const char *kQuantize = "QuantizeLinear", *kDequantize = "DequantizeLinear", *kGelu = "Gelu";

// Gelu(x + bias); FastGelu is the tanh form of it, and its bias may be absent.
template <const char* const& kForm>
void bias_gelu(Graph& graph, Node& node) {
  Value* x = &required(node, 0);
  if (node.input(1)) x = &before(graph, node, "Add", {x, node.input(1)});
  become(graph, node, "Gelu", {x}, {{"approximate", std::string(kForm)}});
}
constexpr const char *kExact = "none", *kTanh = "tanh";

void quick_gelu(Graph& graph, Node& node) {
  Value& x = required(node, 0);
  Value& alpha = add_scalar(graph, node, "alpha", node.get_float("alpha", 1.702), x.dtype());
  Value& gate = before(graph, node, "Sigmoid", {&before(graph, node, "Mul", {&x, &alpha})});
  become(graph, node, "Mul", {&x, &gate}, {});
}

// What may follow inside FusedConv and FusedGemm, with the parameters in the order of the file.
Attrs activation_attrs(const std::string& activation, const std::vector<double>& parameters) {
  const auto parameter = [&](std::size_t i) {
    QUENCH_CHECK(i < parameters.size(), "its activation ", activation, " lacks parameter ", i);
    return parameters[i];
  };
  if (activation == "LeakyRelu") return {{"alpha", parameter(0)}};
  if (activation == "HardSigmoid") return {{"alpha", parameter(0)}, {"beta", parameter(1)}};
  const bool known = activation == "Relu" || activation == "Tanh" || activation == "Sigmoid" || activation == "Clip";
  QUENCH_CHECK(known, "its activation '", activation, "' is not known");
  return {};
}

// Behind `node`; `dtype` is that of its data.
void add_activation(Graph& graph, Node& node, const std::string& activation, const std::vector<double>& parameters,
                    DType dtype) {
  if (activation.empty()) return;
  const Attrs attrs = activation_attrs(activation, parameters);
  std::vector<Value*> bounds;
  if (activation == "Clip") {
    QUENCH_CHECK(parameters.size() == 2, "its activation Clip has ", parameters.size(), " bounds");
    bounds = {&add_scalar(graph, node, "min", parameters[0], dtype),
              &add_scalar(graph, node, "max", parameters[1], dtype)};
  }
  insert_behind(graph, node, 0, activation, bounds).attrs = attrs;
}

// act(conv(X, W) + B + Z)
void fused_conv(Graph& graph, Node& node) {
  const std::string activation = node.get_string("activation", "");
  const std::vector<double> parameters = node.get_floats("activation_params", {});
  Value* residual = node.input(3);
  if (residual) drop_input(graph, node, 3);
  graph.set_op(node, "Conv");
  node.attrs.erase("activation");
  node.attrs.erase("activation_params");
  Node& last = residual ? insert_behind(graph, node, 0, "Add", {residual}) : node;
  add_activation(graph, last, activation, parameters, required(node, 0).dtype());
}

void fused_gemm(Graph& graph, Node& node) {
  const std::string activation = node.get_string("activation", "");
  std::vector<double> parameters;
  for (const char* key : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (node.has(key)) parameters.push_back(node.get_float(key, 0.0));
    node.attrs.erase(key);
  }
  graph.set_op(node, "Gemm");
  node.attrs.erase("activation");
  add_activation(graph, node, activation, parameters, required(node, 0).dtype());
}

// A factor with its last two dims swapped (`matrix`), after its first dim moved behind the other batch dims (`batch`).
Value& turned(Graph& graph, Node& node, Value& factor, bool matrix, bool batch) {
  if (!matrix && !batch) return factor;
  QUENCH_CHECK(factor.has_rank() && factor.rank() >= 2, "the rank of '", factor.name(),
               "' must be known and at least 2");
  std::vector<std::int64_t> perm;
  for (int i = 0; i < factor.rank(); ++i) perm.push_back(i);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return before(graph, node, "Transpose", {&factor}, {{"perm", perm}});
}

// alpha * A B
void fused_mat_mul(Graph& graph, Node& node) {
  const auto flag = [&](const char* name) { return node.get_int(name, 0) != 0; };
  Value& a = turned(graph, node, required(node, 0), flag("transA"), flag("transBatchA"));
  Value& b = turned(graph, node, required(node, 1), flag("transB"), flag("transBatchB"));
  const double alpha = node.get_float("alpha", 1.0);
  const DType dtype = required(node, 0).dtype();
  become(graph, node, "MatMul", {&a, &b}, {});
  if (alpha != 1.0) insert_behind(graph, node, 0, "Mul", {&add_scalar(graph, node, "alpha", alpha, dtype)});
}

// The sum that is normalized is an output, too (the last one): it keeps that output's name.
Value& skip_sum(Graph& graph, Node& node, Value* bias, std::size_t sum_output) {
  Value* sum = &before(graph, node, "Add", {&required(node, 0), &required(node, 1)});
  if (bias) sum = &before(graph, node, "Add", {sum, bias});
  if (!is_wanted(node, sum_output)) return *sum;
  const std::string name = node.outputs()[sum_output]->name();
  graph.replace_uses(*node.outputs()[sum_output], *sum);
  while (node.outputs().size() > sum_output) graph.drop_last_output(node);
  graph.rename(*sum, name);
  return *sum;
}

// input, skip, gamma, beta?, bias? -> normalized, mean?, inverse deviation?, sum?
void skip_layer_norm(Graph& graph, Node& node) {
  std::vector<Value*> inputs{&skip_sum(graph, node, node.input(4), 3), &required(node, 2)};
  if (node.input(3)) inputs.push_back(node.input(3));
  const double epsilon = node.get_float("epsilon", 1e-12);
  keep_outputs(graph, node, 3);
  become(graph, node, "LayerNormalization", inputs, {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

// input, skip, gamma, bias? -> the same outputs
void skip_rms_norm(Graph& graph, Node& node) {
  Value& sum = skip_sum(graph, node, node.input(3), 3);
  const double epsilon = node.get_float("epsilon", 1e-12);
  keep_outputs(graph, node, 1);
  become(graph, node, "RMSNormalization", {&sum, &required(node, 2)},
         {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

void simplified_layer_norm(Graph& graph, Node& node) {
  keep_outputs(graph, node, 1);
  graph.set_op(node, "RMSNormalization");
}

}  // namespace

QUENCH_REGISTER_UPGRADE("com.microsoft.QuantizeLinear@1000", rename_operator<kQuantize>, "QuantizeLinear")
QUENCH_REGISTER_UPGRADE("com.microsoft.DequantizeLinear@1000", rename_operator<kDequantize>, "DequantizeLinear")
QUENCH_REGISTER_UPGRADE("com.microsoft.Gelu@1000", rename_operator<kGelu>, "Gelu")
QUENCH_REGISTER_UPGRADE("com.microsoft.BiasGelu@1000", bias_gelu<kExact>, "Add, Gelu")
QUENCH_REGISTER_UPGRADE("com.microsoft.FastGelu@1000", bias_gelu<kTanh>, "Add, Gelu")
QUENCH_REGISTER_UPGRADE("com.microsoft.QuickGelu@1000", quick_gelu, "Mul, Sigmoid, Mul")
QUENCH_REGISTER_UPGRADE("com.microsoft.FusedConv@1000", fused_conv, "Conv, Add, an activation")
QUENCH_REGISTER_UPGRADE("com.microsoft.FusedGemm@1000", fused_gemm, "Gemm, an activation")
QUENCH_REGISTER_UPGRADE("com.microsoft.FusedMatMul@1000", fused_mat_mul, "Transpose, MatMul, Mul")
QUENCH_REGISTER_UPGRADE("com.microsoft.TransposeMatMul@1000", fused_mat_mul, "Transpose, MatMul, Mul")
QUENCH_REGISTER_UPGRADE("com.microsoft.SkipLayerNormalization@1000", skip_layer_norm, "Add, LayerNormalization")
QUENCH_REGISTER_UPGRADE("com.microsoft.SkipSimplifiedLayerNormalization@1000", skip_rms_norm, "Add, RMSNormalization")
// ONNX Runtime keeps this one in ONNX's own domain, though ONNX has no such operator.
QUENCH_REGISTER_UPGRADE("SimplifiedLayerNormalization@1000", simplified_layer_norm, "RMSNormalization")

}  // namespace quench
