#include "convert/layer_form.h"

#include <algorithm>
#include <map>

#include "ops/integer_layer.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

bool is_byte(const QType& type) { return type.scheme.is_int() && type.scheme.bits() > 4 && type.scheme.bits() <= 8; }
bool is_tensor_int(const QType* type) { return type && type->scheme.is_int() && type->scheme.per_tensor(); }

const QType* operand(const LayerForm& form, std::size_t slot) {
  return slot < form.in.size() ? form.in[slot] : nullptr;
}

std::string second_factor(const LayerForm& form, int axis, int rank) {
  const QType* w = operand(form, 1);
  if (!w || !w->scheme.is_int()) return "its weight is not quantized to integers";
  if (w->scheme.granularity() == Granularity::kGroup) return "its weight has scales per group";
  if (w->scheme.per_tensor() || w->scheme.axis_of(rank) == axis) return "";
  return concat("its weight has scales along axis ", w->scheme.axis_of(rank), ", not ", axis);
}

bool has_own_pads(const Node& node) {
  const std::string pad = node.get_string("auto_pad", "NOTSET");
  return pad == "NOTSET" || pad == "VALID";
}

std::string conv(const LayerForm& form) {
  const Value& weight = *form.node->input(1);
  if (!has_own_pads(*form.node)) return "its pads depend on the size of its input (auto_pad)";
  return weight.has_rank() ? second_factor(form, 0, weight.rank()) : "the rank of its weight is not known";
}

std::string conv_transpose(const LayerForm& form) {
  const Value& weight = *form.node->input(1);
  if (!has_own_pads(*form.node) || form.node->has("output_shape")) return "its pads depend on the size of its input";
  return weight.has_rank() ? second_factor(form, 1, weight.rank()) : "the rank of its weight is not known";
}

std::string gemm(const LayerForm& form) {
  const Node& node = *form.node;
  if (node.get_float("alpha", 1.0) != 1.0 || node.get_float("beta", 1.0) != 1.0) return "its alpha or beta is not 1";
  return second_factor(form, node.get_int("transB", 0) != 0 ? 0 : 1, 2);
}

std::string matmul(const LayerForm& form) {
  const Value &a = *form.node->input(0), &b = *form.node->input(1);
  if (!a.has_rank() || !b.has_rank() || a.rank() < 2 || b.rank() < 2) return "its operands must be known as matrices";
  return second_factor(form, b.rank() - 1, b.rank());
}

std::string all_operands(const LayerForm& form) {
  const bool all = std::all_of(form.in.begin(), form.in.end(), is_tensor_int);
  return all ? "" : "one of its operands is not quantized to integers per tensor";
}

std::string pair(const LayerForm& form) {
  const bool wide =
      std::any_of(form.in.begin(), form.in.end(), [](const QType* t) { return t && t->scheme.bits() > 8; });
  if (form.rule == Requantize::kTflite && wide && form.node->op() == "Add")
    return "the tflite rule has no Add of more than 8 bits";
  return all_operands(form);
}

std::string window(const LayerForm& form) {
  return has_own_pads(*form.node) ? "" : "its pads depend on the size of its input (auto_pad)";
}
std::string nothing_more(const LayerForm&) { return ""; }

// Beyond an input and a result in integers.
using Demand = std::string (*)(const LayerForm&);

Demand demand_of(const std::string& op) {
  static const std::map<std::string, Demand> demands = {
      {"Conv", conv}, {"ConvTranspose", conv_transpose}, {"Gemm", gemm},         {"MatMul", matmul}, {"Add", pair},
      {"Mul", pair},  {"Concat", all_operands},          {"AveragePool", window}};
  const auto found = demands.find(op);
  return found == demands.end() ? nothing_more : found->second;
}

bool is_weight(const LayerForm& form, std::size_t slot) {
  return slot == 1 && entry_of(*form.node).traits.weight_slot == 1;
}

// ONNX Runtime on x86 replaces a layer between DequantizeLinear and QuantizeLinear by an integer kernel where its
// activations are uint8 and nothing precedes the QuantizeLinear but a clamp that the codes saturate to anyway.
std::string why_not_mlas(const LayerForm& form) {
  const Node& node = *form.node;
  const std::string runtime = "ONNX Runtime computes it in float: ";
  if (node.op() == "ConvTranspose") return runtime + "it has no kernel for ConvTranspose";
  for (std::size_t slot = 0; slot < form.in.size(); ++slot) {
    const QType* type = form.in[slot];
    if (type && !is_byte(*type)) return runtime + "its codes have no 8 bits";
    if (type && !is_weight(form, slot) && type->scheme.is_signed()) return runtime + "its input is signed";
  }
  if (form.float_bias) return runtime + "its bias is float";
  if (node.get_string("auto_pad", "NOTSET") != "NOTSET") return runtime + "auto_pad is set";
  if (node.op() == "Gemm" && !form.in[1]->scheme.per_tensor()) return runtime + "its weight has scales per column";
  if (!is_byte(*form.y) || form.y->scheme.is_signed()) return runtime + "its result is not uint8";
  const OutputCodes codes = output_codes(*form.y, {form.rule}, form.clip);
  const bool saturates = codes.low == form.y->scheme.qmin() && codes.high == form.y->scheme.qmax();
  return saturates ? "" : runtime + "the clamp behind it is not what its codes saturate to";
}

}  // namespace

std::string why_float(const LayerForm& form) {
  if (!has_integer_op(form.node->op())) return concat(form.node->op(), " has no integer form");
  if (!is_tensor_int(operand(form, 0))) return "its input is not quantized to integers per tensor";
  if (!is_tensor_int(form.y)) return "its result is not quantized to integers per tensor";
  const std::string reason = demand_of(form.node->op())(form);
  if (!reason.empty()) return reason;
  if (is_mlas(form.rule)) return why_not_mlas(form);
  return form.float_bias ? "its bias is float" : "";
}

}  // namespace quench
