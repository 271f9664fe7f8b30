// The operators on codes of a converted graph (ops/integer_form.h), by the plain arithmetic of quant/integer_ops.h:
// what a fast engine must equal bit for bit.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/integer_form.h"
#include "ops/integer_layer.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

std::vector<RtValue> quantize(const Node& node, const Inputs& in, ExecContext&) {
  const QType type = integer_form(node).y;
  const QuantizeBy by = quantize_by_from_name(node.get_string("by", "division"));
  const at::Tensor codes = quantize_reference(in[0].tensor(), type, by);
  return {type.scheme.is_int() ? RtValue(codes, code_dtype(type.scheme)) : RtValue(codes)};
}

std::vector<RtValue> dequantize(const Node& node, const Inputs& in, ExecContext&) {
  return {dequantize_reference(in[0].tensor(), integer_form(node).y)};
}

std::vector<RtValue> table(const Node& node, const Inputs& in, ExecContext&) {
  const IntegerForm form = integer_form(node);
  const QScheme& x = form.in[0].scheme;
  const at::Tensor& entries = in[1].tensor();
  QUENCH_CHECK(entries.dim() == 1 && entries.numel() == x.levels(), node.where(), ": its table must have ", x.levels(),
               " entries");
  const at::Tensor codes = store_codes(in[0].tensor().cpu(), x).to(at::kLong) - x.qmin();
  // By int: LibTorch cannot select from some narrow types.
  const at::Tensor found = entries.cpu().to(at::kInt).index_select(0, codes.flatten()).view(codes.sizes());
  return {{store_codes(found, form.y.scheme), code_dtype(form.y.scheme)}};
}

std::vector<RtValue> layer(const Node& node, const Inputs& in, ExecContext&) {
  const IntegerForm form = integer_form(node);
  const at::Tensor bias = form.bias_slot < 0 ? at::Tensor() : in[static_cast<std::size_t>(form.bias_slot)].tensor();
  IntegerCall call{node, {}, bias, {form.y, form.arithmetic, form.clip}};
  for (std::size_t i = 0; i < form.in.size(); ++i)
    call.in.push_back({in[static_cast<std::size_t>(form.slots[i])].tensor(), form.in[i]});
  return {{compute_on_codes(float_op(node), call), code_dtype(form.y.scheme)}};
}

DType dtype_of_scheme(const QScheme& scheme) {
  switch (scheme.format()) {
    case Format::kInt: return code_dtype(scheme);
    case Format::kE4M3Fn: return DType::kFloat8E4M3Fn;
    case Format::kE5M2: return DType::kFloat8E5M2;
    case Format::kLog: return DType::kUint8;
  }
  return DType::kUndefined;
}

DType result_dtype(const Node& node, const char* attribute) {
  const std::vector<std::string> list = node.get_strings("schemes", {});
  const std::string text = list.empty() ? node.get_string(attribute, "") : list.back();
  return text.empty() ? DType::kUndefined : dtype_of_scheme(QScheme::parse(text));
}

void quantize_shapes(Node& node) { set_type(node, 0, result_dtype(node, "scheme"), input_dims(node, 0)); }
void dequantize_shapes(Node& node) { set_type(node, 0, DType::kFloat, input_dims(node, 0)); }
void table_shapes(Node& node) { set_type(node, 0, result_dtype(node, "schemes"), input_dims(node, 0)); }

// The float operator on the operands, with the shape of its result: what its own rules speak of.
Node& plain_operator(const Node& node, Graph& scratch) {
  const auto operands = static_cast<int>(node.get_strings("schemes", {}).size()) - 1;
  std::vector<Value*> inputs;
  for (int i = 0; i < operands; ++i) {
    const Value* codes = node.input(3 * i);
    inputs.push_back(&scratch.add_input(concat("x", i), codes ? codes->type() : TypeInfo()));
  }
  Node& plain = scratch.add(float_op(node), node.name(), inputs);
  plain.attrs = node.attrs;
  if (operands > 0) entry_of(plain).shapes(plain);
  return plain;
}

void layer_shapes(Node& node) {
  Graph scratch;
  const TypeInfo& found = plain_operator(node, scratch).output().type();
  set_type(node, 0, result_dtype(node, "schemes"), found.is_tensor() ? found.dims : std::nullopt);
}

std::int64_t layer_macs(const Node& node) {
  Graph scratch;
  const Node& plain = plain_operator(node, scratch);
  return entry_of(plain).traits.macs(plain);
}

int weight_axis(const Node& node) {
  const std::vector<std::string> schemes = node.get_strings("schemes", {});
  if (schemes.size() < 3) return 0;
  const QScheme scheme = QScheme::parse(schemes[1]);
  return scheme.per_tensor() ? 0 : scheme.axis();
}

OpTraits weighted(bool has_bias) {
  OpTraits traits;
  traits.weight_slot = 3;
  traits.weight_axis = weight_axis;
  traits.macs = layer_macs;
  if (has_bias) traits.bias_slot = 8;
  return traits;
}

OpTraits quantizing() {
  OpTraits traits;
  traits.quantizes = true;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("quench.Quantize", quantize, quantize_shapes, quantizing(), "float -> codes of any scheme")
QUENCH_REGISTER_OP("quench.Dequantize", dequantize, dequantize_shapes, quantizing(), "codes of any scheme -> float")
QUENCH_REGISTER_OP("quench.QConv", layer, layer_shapes, weighted(true), "Conv on codes, requantized")
QUENCH_REGISTER_OP("quench.QConvTranspose", layer, layer_shapes, weighted(true), "ConvTranspose on codes, requantized")
QUENCH_REGISTER_OP("quench.QGemm", layer, layer_shapes, weighted(true), "Gemm on codes, requantized")
QUENCH_REGISTER_OP("quench.QMatMul", layer, layer_shapes, weighted(true), "MatMul on codes, requantized")
QUENCH_REGISTER_OP("quench.QAdd", layer, layer_shapes, OpTraits{}, "Add on codes, requantized")
QUENCH_REGISTER_OP("quench.QMul", layer, layer_shapes, OpTraits{}, "Mul on codes, requantized")
QUENCH_REGISTER_OP("quench.QConcat", layer, layer_shapes, OpTraits{}, "Concat of codes of different types")
QUENCH_REGISTER_OP("quench.QAveragePool", layer, layer_shapes, OpTraits{}, "AveragePool on codes, requantized")
QUENCH_REGISTER_OP("quench.QGlobalAveragePool", layer, layer_shapes, OpTraits{},
                   "GlobalAveragePool on codes, requantized")
QUENCH_REGISTER_OP("quench.QTable", table, table_shapes, OpTraits{}, "a function of one code, by table")

}  // namespace quench
