// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: per tensor, per axis, per block.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/convert.h"
#include "ops/dynamic_codes.h"
#include "ops/shape_rules.h"
#include "quant/code_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

bool is_small_float(DType dtype) { return is_floating(dtype) && bits_of(dtype) <= 8; }

// The scale (or zero point) with the rank of x: one number, one per channel, or one per block along the axis.
at::Tensor spread(const Node& node, const at::Tensor& tensor, const at::Tensor& x) {
  if (tensor.numel() == 1 && tensor.dim() <= 1) return tensor.reshape({});
  const int axis = normalize_axis(node.get_int("axis", 1), static_cast<int>(x.dim()), node);
  const std::int64_t block = node.get_int("block_size", 0);
  if (tensor.dim() == 1 && block == 0) {
    QUENCH_CHECK(tensor.numel() == x.size(axis), node.where(), ": ", tensor.numel(), " scales for an axis of ",
                 x.size(axis), " channels");
    return per_channel(tensor, x.dim(), axis);
  }
  QUENCH_CHECK(tensor.dim() == x.dim() && block > 0, node.where(), ": a scale of rank ", tensor.dim(),
               " needs a positive block_size and data of the same rank, not ", block, " and rank ", x.dim());
  return at::repeat_interleave(tensor, block, axis).narrow(axis, 0, x.size(axis));
}

DType quantized_type(const Node& node, DType zero_point) {
  if (zero_point != DType::kUndefined) return zero_point;
  const std::int64_t wanted = node.get_int("output_dtype", 0);
  return wanted == 0 ? DType::kUint8 : dtype_from_onnx(wanted);
}

std::vector<RtValue> quantize_linear(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const DType dtype = quantized_type(node, given(in, 2) ? in[2].dtype() : DType::kUndefined);
  // Half types are divided in float: the code must not depend on a rounded quotient.
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor scaled = x.to(wide) / spread(node, in[1].tensor().to(wide), x);
  if (is_small_float(dtype)) return {convert(scaled, dtype, {node.get_int("saturate", 1) != 0})};
  QUENCH_CHECK(is_integer(dtype) && bits_of(dtype) <= 16, node.where(), ": cannot quantize to ", name_of(dtype));
  const at::Tensor zero = given(in, 2) ? spread(node, in[2].tensor().to(wide), x) : at::Tensor();
  const at::Tensor codes = nearest_codes(scaled, zero, code_range(bits_of(dtype), is_signed(dtype)));
  // By int: LibTorch has no conversion from float to some narrow types on every device.
  return {{codes.to(at::kInt).to(scalar_type_of(dtype)), dtype}};
}

std::vector<RtValue> dequantize_linear(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &scale = in[1].tensor();
  const DType dtype = in[0].dtype();
  QUENCH_CHECK((is_integer(dtype) && bits_of(dtype) <= 32) || is_small_float(dtype), node.where(),
               ": cannot dequantize ", name_of(dtype));
  const std::int64_t wanted = node.get_int("output_dtype", 0);
  const at::ScalarType type = wanted == 0 ? scale.scalar_type() : scalar_type_of(dtype_from_onnx(wanted));
  const at::ScalarType wide = scale.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor steps = is_integer(dtype) ? x : decode(in[0]);
  // Differences of codes are exact in int32; a float holds all but the largest int32.
  if (is_integer(dtype) && given(in, 2)) steps = x.to(at::kInt) - spread(node, in[2].tensor().to(at::kInt), x);
  return {(steps.to(wide) * spread(node, scale.to(wide), x)).to(type)};
}

std::vector<RtValue> dynamic_quantize(const Node&, const Inputs& in, ExecContext&) {
  const auto [codes, scale, zero] = dynamic_codes(in[0].tensor());
  return {codes.to(at::kByte), scale, zero.to(at::kByte)};
}

void quantize_shapes(Node& node) { set_type(node, 0, quantized_type(node, input_dtype(node, 2)), input_dims(node, 0)); }

void dequantize_shapes(Node& node) {
  const std::int64_t wanted = node.get_int("output_dtype", 0);
  set_type(node, 0, wanted == 0 ? input_dtype(node, 1) : dtype_from_onnx(wanted), input_dims(node, 0));
}

void dynamic_shapes(Node& node) {
  set_type(node, 0, DType::kUint8, input_dims(node, 0));
  set_type(node, 1, DType::kFloat, Dims{});
  set_type(node, 2, DType::kUint8, Dims{});
}

OpTraits quantizing() {
  OpTraits traits;
  traits.quantizes = true;
  return traits;
}

}  // namespace

std::array<at::Tensor, 3> dynamic_codes(const at::Tensor& x) {
  const at::Tensor low = at::clamp_max(x.min(), 0), high = at::clamp_min(x.max(), 0);
  at::Tensor scale = (high - low) / 255;
  scale = at::where(scale == 0, at::ones_like(scale), scale);
  const CodeRange range = code_range(8, false);
  const at::Tensor zero = nearest_codes(-low / scale, {}, range);
  return {nearest_codes(x / scale, zero, range), scale, zero};
}

QUENCH_REGISTER_OP("QuantizeLinear", quantize_linear, quantize_shapes, quantizing(), "float -> integer or float8 codes")
QUENCH_REGISTER_OP("DequantizeLinear", dequantize_linear, dequantize_shapes, quantizing(), "codes -> float")
QUENCH_REGISTER_OP("DynamicQuantizeLinear", dynamic_quantize, dynamic_shapes, OpTraits{},
                   "float -> uint8 codes by its own range")

}  // namespace quench
