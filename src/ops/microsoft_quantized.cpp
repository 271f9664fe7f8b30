// ONNX Runtime's own operators on codes (domain com.microsoft), as its integer kernels compute them: the mlas rule of
// docs/numerics.md 11. What quantized files of form QOperator consist of, besides ONNX's QLinearConv and QLinearMatMul.
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/macs.h"
#include "ops/shape_rules.h"
#include "ops/window.h"
#include "quant/integer_ops.h"
#include "quench/error.h"

namespace quench {
namespace {

// Codes with their scale and zero point, in three consecutive slots.
struct Operand {
  at::Tensor codes;
  QType type;
  QTensor tensor() const { return {codes, type}; }
};

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kCPU, at::kFloat).flatten().contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

// `axis`: of scales that are one per channel; -1 if there may be one only. An absent zero point is 0.
QType type_at(const Node& node, const Inputs& in, std::size_t scale_slot, DType dtype, int axis = -1) {
  QUENCH_CHECK(given(in, scale_slot), node.where(), ": input ", scale_slot, ", a scale, is absent");
  QUENCH_CHECK(dtype == DType::kUint8 || dtype == DType::kInt8, node.where(), ": codes of ", name_of(dtype),
               "; uint8 and int8 are known");
  QType type;
  type.params.scale = floats_of(in[scale_slot].tensor());
  QUENCH_CHECK(!type.params.scale.empty(), node.where(), ": input ", scale_slot, ", a scale, is empty");
  QSchemeSpec spec;
  spec.is_signed = dtype == DType::kInt8;
  spec.symmetric = false;
  if (type.params.scale.size() > 1) {
    QUENCH_CHECK(axis >= 0, node.where(), ": input ", scale_slot, " has ", type.params.scale.size(),
                 " scales, where one is expected");
    spec.granularity = Granularity::kChannel;
    spec.axis = axis;
  }
  type.scheme = QScheme(spec);
  type.params.zero_point.assign(type.params.scale.size(), 0);
  if (given(in, scale_slot + 1)) {
    const std::vector<float> zeros = floats_of(in[scale_slot + 1].tensor());
    QUENCH_CHECK(zeros.size() == 1 || zeros.size() == type.params.scale.size(), node.where(), ": ", zeros.size(),
                 " zero points for ", type.params.scale.size(), " scales");
    for (std::size_t i = 0; i < type.params.zero_point.size(); ++i)
      type.params.zero_point[i] = static_cast<std::int32_t>(zeros[zeros.size() == 1 ? 0 : i]);
  }
  check_scales(type.params);
  return type;
}

Operand operand_at(const Node& node, const Inputs& in, std::size_t slot, int axis = -1) {
  QUENCH_CHECK(given(in, slot), node.where(), ": input ", slot, " is absent");
  return {in[slot].tensor(), type_at(node, in, slot + 1, in[slot].dtype(), axis)};
}

// The result's type, from the scale and zero point in these slots; an absent zero point is a uint8.
struct Result {
  QType type;
  DType dtype;
  Output output() const { return {type, {Requantize::kMlas}, {}}; }
};
Result result_at(const Node& node, const Inputs& in, std::size_t scale_slot) {
  const DType dtype = given(in, scale_slot + 1) ? in[scale_slot + 1].dtype() : DType::kUint8;
  return {type_at(node, in, scale_slot, dtype), dtype};
}

template <at::Tensor (*compute)(const QTensor&, const QTensor&, const Output&)>
std::vector<RtValue> qlinear_binary(const Node& node, const Inputs& in, ExecContext&) {
  const Operand a = operand_at(node, in, 0), b = operand_at(node, in, 3);
  const Result y = result_at(node, in, 6);
  return {{compute(a.tensor(), b.tensor(), y.output()), y.dtype}};
}

void check_channels_first(const Node& node) {
  QUENCH_CHECK(node.get_int("channels_last", 0) == 0, node.where(),
               ": channels_last must be 0: only channels-first data is supported");
}

std::vector<RtValue> qlinear_global_average_pool(const Node& node, const Inputs& in, ExecContext&) {
  check_channels_first(node);
  const Operand x = operand_at(node, in, 0);
  const Result y = result_at(node, in, 3);
  return {{integer_global_average_pool(x.tensor(), y.output()), y.dtype}};
}

std::vector<RtValue> qlinear_average_pool(const Node& node, const Inputs& in, ExecContext&) {
  check_channels_first(node);
  const Operand x = operand_at(node, in, 0);
  const Result y = result_at(node, in, 3);
  Window window = window_of(node);
  window.resolve(spatial_sizes(x.codes));
  std::vector<std::int64_t> pads = window.begin;
  pads.insert(pads.end(), window.end.begin(), window.end.end());
  const Pool pool{window.kernel,
                  {window.strides, pads, window.dilations},
                  window.ceil_mode,
                  node.get_int("count_include_pad", 0) != 0};
  return {{integer_average_pool(x.tensor(), pool, y.output()), y.dtype}};
}

std::vector<RtValue> qlinear_concat(const Node& node, const Inputs& in, ExecContext&) {
  const Result y = result_at(node, in, 0);
  QUENCH_CHECK(in.size() >= 5 && in.size() % 3 == 2, node.where(), ": ", in.size(),
               " inputs are not a scale, a zero point and triples");
  std::vector<Operand> operands;
  for (std::size_t slot = 2; slot < in.size(); slot += 3) operands.push_back(operand_at(node, in, slot));
  std::vector<QTensor> tensors;
  for (const Operand& one : operands) tensors.push_back(one.tensor());
  const int axis = normalize_axis(node.require_int("axis"), static_cast<int>(operands[0].codes.dim()), node);
  return {{integer_concat(tensors, axis, y.output()), y.dtype}};
}

// Codes without their zero points, in double, where sums of products of bytes are exact.
at::Tensor centred(const Operand& operand, bool transposed) {
  const std::vector<std::int32_t>& zeros = operand.type.params.zero_point;
  at::Tensor zero = at::empty({static_cast<std::int64_t>(zeros.size())}, at::kDouble);
  std::copy(zeros.begin(), zeros.end(), zero.mutable_data_ptr<double>());
  const at::Tensor steps = transposed ? operand.codes.t() : operand.codes;  // scales are one per column of the product
  return steps.to(at::kDouble) - zero.to(steps.device());
}

// (A B + C) * (s_A s_B), C in steps of that.
at::Tensor float_gemm(const Operand& a, const Operand& b, const at::Tensor& bias, Transposed transposed) {
  at::Tensor sum = at::mm(centred(a, transposed.a), centred(b, transposed.b));
  if (bias.defined()) sum = sum + bias;
  const std::vector<float>& scales = b.type.params.scale;
  const at::Tensor scale = at::tensor(at::ArrayRef<float>(scales)) * a.type.params.scale[0];
  return sum.to(at::kFloat) * scale.to(sum.device());
}

// A, B and their parameters, an int32 bias, and the result's; without those the result is float.
std::vector<RtValue> qgemm(const Node& node, const Inputs& in, ExecContext&) {
  const double alpha = node.get_float("alpha", 1.0);
  QUENCH_CHECK(alpha > 0.0, node.where(), ": alpha must be above 0, not ", alpha);
  const bool trans_b = node.get_int("transB", 0) != 0;
  Operand a = operand_at(node, in, 0);
  const Operand b = operand_at(node, in, 3, trans_b ? 0 : 1);
  QUENCH_CHECK(a.codes.dim() == 2 && b.codes.dim() == 2, node.where(), ": both factors must be matrices");
  a.type.params.scale[0] *= static_cast<float>(alpha);  // of the product, and of the bias, which is in its steps
  const Transposed transposed{node.get_int("transA", 0) != 0, trans_b};
  const at::Tensor bias = tensor_or_undefined(in, 6);
  if (!given(in, 7)) return {float_gemm(a, b, bias, transposed)};
  const Result y = result_at(node, in, 7);
  return {{integer_gemm(a.tensor(), b.tensor(), bias, transposed, y.output()), y.dtype}};
}

// condition, x and y with their parameters, the result's
std::vector<RtValue> qlinear_where(const Node& node, const Inputs& in, ExecContext&) {
  const Operand x = operand_at(node, in, 1), y = operand_at(node, in, 4);
  const Result z = result_at(node, in, 7);
  const at::Tensor value =
      at::where(in[0].tensor(), dequantize_reference(x.codes, x.type), dequantize_reference(y.codes, y.type));
  return {{quantize_reference(value, z.type, QuantizeBy::kDivision), z.dtype}};
}

// Functions of one tensor: by a table of 256 entries in the runtime, each the float function rounded.
template <at::Tensor (*function)(const Node&, const at::Tensor&)>
std::vector<RtValue> qlinear_unary(const Node& node, const Inputs& in, ExecContext&) {
  const Operand x = operand_at(node, in, 0);
  const Result y = result_at(node, in, 3);
  const at::Tensor value = function(node, dequantize_reference(x.codes, x.type));
  return {{quantize_reference(value, y.type, QuantizeBy::kDivision), y.dtype}};
}
at::Tensor sigmoid(const Node&, const at::Tensor& x) { return at::sigmoid(x); }
at::Tensor leaky_relu(const Node& node, const at::Tensor& x) {
  return at::leaky_relu(x, node.get_float("alpha", 0.01));
}
// Before ONNX's opset 13, which the node names, all dims from the axis on are one.
at::Tensor softmax(const Node& node, const at::Tensor& x) {
  const bool old = node.get_int("opset", 13) < 13;
  const int axis = normalize_axis(node.get_int("axis", old ? 1 : -1), static_cast<int>(x.dim()), node);
  return old ? at::softmax(x.flatten(axis), axis).view_as(x) : at::softmax(x, axis);
}

DType result_dtype(const Node& node, int zero_point_slot) {
  const DType dtype = input_dtype(node, zero_point_slot);
  return dtype == DType::kUndefined ? DType::kUint8 : dtype;
}

void binary_shapes(Node& node) {
  const auto a = input_dims(node, 0), b = input_dims(node, 3);
  set_type(node, 0, result_dtype(node, 7), a && b ? broadcast(*a, *b, node) : std::nullopt);
}
void where_shapes(Node& node) {
  const auto condition = input_dims(node, 0), x = input_dims(node, 1), y = input_dims(node, 4);
  std::optional<Dims> dims = x && y ? broadcast(*x, *y, node) : std::nullopt;
  set_type(node, 0, result_dtype(node, 8), dims && condition ? broadcast(*dims, *condition, node) : std::nullopt);
}
void unary_shapes(Node& node) { set_type(node, 0, result_dtype(node, 4), input_dims(node, 0)); }
void global_shapes(Node& node) {
  auto dims = input_dims(node, 0);
  for (std::size_t i = 2; dims && i < dims->size(); ++i) (*dims)[i] = Dim(1);
  set_type(node, 0, result_dtype(node, 4), dims);
}
void window_shapes(Node& node) {
  auto dims = input_dims(node, 0);
  const Window window = window_of(node);
  for (std::size_t i = 2; dims && i < dims->size(); ++i) (*dims)[i] = window.output_dim(i - 2, (*dims)[i]);
  set_type(node, 0, result_dtype(node, 4), dims);
}
void concat_shapes(Node& node) {
  auto dims = input_dims(node, 2);
  if (dims) {
    const auto axis =
        static_cast<std::size_t>(normalize_axis(node.require_int("axis"), static_cast<int>(dims->size()), node));
    for (int slot = 5; slot < static_cast<int>(node.inputs().size()); slot += 3) {
      const auto more = input_dims(node, slot);
      const bool known = more && more->size() == dims->size() && (*more)[axis].is_number() && (*dims)[axis].is_number();
      (*dims)[axis] = known ? Dim((*dims)[axis].number() + (*more)[axis].number()) : Dim();
    }
  }
  set_type(node, 0, result_dtype(node, 1), dims);
}
void gemm_shapes(Node& node) {
  const auto a = input_dims(node, 0), b = input_dims(node, 3);
  std::optional<Dims> dims;
  if (a && b && a->size() == 2 && b->size() == 2)
    dims = Dims{(*a)[node.get_int("transA", 0) != 0 ? 1 : 0], (*b)[node.get_int("transB", 0) != 0 ? 0 : 1]};
  set_type(node, 0, node.input(7) ? result_dtype(node, 8) : DType::kFloat, dims);
}

}  // namespace

QUENCH_REGISTER_OP("com.microsoft.QLinearAdd", qlinear_binary<integer_add>, binary_shapes, {}, "a + b on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearMul", qlinear_binary<integer_mul>, binary_shapes, {}, "a * b on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearGlobalAveragePool", qlinear_global_average_pool, global_shapes, {},
                   "mean of each plane, on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearAveragePool", qlinear_average_pool, window_shapes, {},
                   "mean of each window, on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearConcat", qlinear_concat, concat_shapes, {}, "joins codes along an axis")
QUENCH_REGISTER_OP("com.microsoft.QGemm", qgemm, gemm_shapes, with_macs(product_macs), "A B + C on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearSigmoid", qlinear_unary<sigmoid>, unary_shapes, {}, "Sigmoid on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearLeakyRelu", qlinear_unary<leaky_relu>, unary_shapes, {}, "LeakyRelu on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearSoftmax", qlinear_unary<softmax>, unary_shapes, {}, "Softmax on codes")
QUENCH_REGISTER_OP("com.microsoft.QLinearWhere", qlinear_where, where_shapes, {}, "Where on codes")

}  // namespace quench
