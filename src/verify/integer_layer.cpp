#include "verify/integer_layer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "ops/clamp.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

bool is_byte(const QType& type) { return type.scheme.is_int() && type.scheme.bits() > 4 && type.scheme.bits() <= 8; }
bool is_tensor_byte(const QType* type) { return type && is_byte(*type) && type->scheme.per_tensor(); }

const QType* operand(const LayerForm& form, std::size_t slot) {
  return slot < form.in.size() ? form.in[slot] : nullptr;
}

bool has_weights(const LayerForm& form, int axis, int rank) {
  const QType* w = operand(form, 1);
  if (!w || !is_byte(*w) || w->scheme.granularity() == Granularity::kGroup || form.float_bias) return false;
  return w->scheme.per_tensor() || w->scheme.axis_of(rank) == axis;
}

bool fits_conv(const LayerForm& form) {
  return form.node->get_string("auto_pad", "NOTSET") == "NOTSET" && form.node->input(1)->has_rank() &&
         has_weights(form, 0, form.node->input(1)->rank());
}

bool fits_gemm(const LayerForm& form) {
  const Node& node = *form.node;
  if (node.get_float("alpha", 1.0) != 1.0 || node.get_float("beta", 1.0) != 1.0) return false;
  // ONNX Runtime leaves a Gemm with scales per column in float (measured).
  if (is_mlas(form.rule) && form.in[1] && !form.in[1]->scheme.per_tensor()) return false;
  return has_weights(form, node.get_int("transB", 0) != 0 ? 0 : 1, 2);
}

bool fits_matmul(const LayerForm& form) {
  const Value& w = *form.node->input(1);
  return w.has_rank() && w.rank() >= 2 && form.node->input(0)->has_rank() && form.node->input(0)->rank() >= 2 &&
         has_weights(form, w.rank() - 1, w.rank());
}

bool fits_pair(const LayerForm& form) { return is_tensor_byte(operand(form, 1)); }
bool fits_all(const LayerForm& form) { return std::all_of(form.in.begin(), form.in.end(), is_tensor_byte); }
bool fits_one(const LayerForm&) { return true; }
bool fits_pool(const LayerForm& form) { return form.node->get_string("auto_pad", "NOTSET") == "NOTSET"; }

IntegerWindow window_of(const Node& node) {
  return {node.get_ints("strides", {}), node.get_ints("pads", {}), node.get_ints("dilations", {})};
}

Pool pool_of(const Node& node) {
  return {node.require_ints("kernel_shape"), window_of(node), node.get_int("ceil_mode", 0) != 0,
          node.get_int("count_include_pad", 0) != 0};
}

// A layer with its data.
struct Call {
  const Node& node;
  std::vector<QTensor> in;
  const at::Tensor& bias;
  Output y;
};

at::Tensor conv(const Call& call) {
  return integer_conv(call.in[0], call.in[1], call.bias, window_of(call.node), call.node.get_int("group", 1), call.y);
}
at::Tensor gemm(const Call& call) {
  return integer_gemm(call.in[0], call.in[1], call.bias,
                      {call.node.get_int("transA", 0) != 0, call.node.get_int("transB", 0) != 0}, call.y);
}
at::Tensor matmul(const Call& call) { return integer_matmul(call.in[0], call.in[1], {}, call.y); }
at::Tensor add(const Call& call) { return integer_add(call.in[0], call.in[1], call.y); }
at::Tensor mul(const Call& call) { return integer_mul(call.in[0], call.in[1], call.y); }
at::Tensor concat_codes(const Call& call) { return integer_concat(call.in, call.node.require_int("axis"), call.y); }
at::Tensor average(const Call& call) { return integer_average_pool(call.in[0], pool_of(call.node), call.y); }
at::Tensor global_average(const Call& call) { return integer_global_average_pool(call.in[0], call.y); }

struct IntegerOp {
  bool (*fits)(const LayerForm&);  // beyond an input and an output in bytes
  at::Tensor (*compute)(const Call&);
};

const IntegerOp* find_op(const std::string& name) {
  static const std::map<std::string, IntegerOp> ops = {{"Conv", {fits_conv, conv}},
                                                       {"Gemm", {fits_gemm, gemm}},
                                                       {"MatMul", {fits_matmul, matmul}},
                                                       {"Add", {fits_pair, add}},
                                                       {"Mul", {fits_pair, mul}},
                                                       {"Concat", {fits_all, concat_codes}},
                                                       {"AveragePool", {fits_pool, average}},
                                                       {"GlobalAveragePool", {fits_one, global_average}}};
  const auto found = ops.find(name);
  return found == ops.end() ? nullptr : &found->second;
}

// ONNX Runtime on x86 replaces a layer between DequantizeLinear and QuantizeLinear by an integer kernel where its
// activations are uint8 and nothing precedes the QuantizeLinear but a clamp that the codes saturate to anyway.
bool mlas_replaces(const LayerForm& form) {
  for (std::size_t slot = 0; slot < form.in.size(); ++slot) {
    const bool is_weight = slot == 1 && entry_of(*form.node).traits.weight_slot == 1;
    if (form.in[slot] && !is_weight && form.in[slot]->scheme.is_signed()) return false;
  }
  const OutputCodes codes = output_codes(*form.y, {form.rule}, form.clip);
  return !form.y->scheme.is_signed() && codes.low == form.y->scheme.qmin() && codes.high == form.y->scheme.qmax();
}

}  // namespace

bool has_integer_form(const LayerForm& form) {
  const IntegerOp* op = find_op(form.node->op());
  if (!op || !is_tensor_byte(operand(form, 0)) || !is_tensor_byte(form.y) || !op->fits(form)) return false;
  return !is_mlas(form.rule) || mlas_replaces(form);
}

at::Tensor compute_layer(const LayerForm& form, const std::vector<at::Tensor>& codes, const at::Tensor& bias) {
  Call call{*form.node, {}, bias, {*form.y, {form.rule}, form.clip}};
  for (const QType* type : form.in)
    if (type) call.in.push_back({codes.at(call.in.size()), *type});
  return with_context([&] { return concat("at ", form.node->where(), " in integers"); },
                      [&] { return find_op(form.node->op())->compute(call); });
}

bool keeps_codes(const LayerForm& form) {
  // A clamp leaves numbers as they are, or puts a bound in their place, whose code is the same on either side.
  const QType* x = operand(form, 0);
  return (is_clamp(*form.node) || moves_codes(*form.node)) && x && *x == *form.y;
}

}  // namespace quench
