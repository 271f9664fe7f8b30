// Cast, CastLike, BitCast: from one element type to another.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/convert.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

OpTraits cast_traits() {
  OpTraits traits;
  traits.keeps_sign = true;
  return traits;
}

ConvertOptions options_of(const Node& node) {
  ConvertOptions options;
  options.saturate = node.get_int("saturate", 1) != 0;
  const std::string mode = node.get_string("round_mode", "up");
  QUENCH_CHECK(mode == "up" || mode == "down" || mode == "nearest", "round_mode must be up, down or nearest, not '",
               mode, "'");
  options.e8m0 = mode == "up" ? E8M0Rounding::kUp : mode == "down" ? E8M0Rounding::kDown : E8M0Rounding::kNearest;
  return options;
}

std::vector<RtValue> cast(const Node& node, const Inputs& in, ExecContext&) {
  return {convert(in[0], dtype_from_onnx(node.require_int("to")), options_of(node))};
}

std::vector<RtValue> cast_like(const Node& node, const Inputs& in, ExecContext&) {
  return {convert(in[0], in[1].dtype(), options_of(node))};
}

// Same bits; in types of less than a byte each element is in a byte of its own.
std::vector<RtValue> bit_cast(const Node& node, const Inputs& in, ExecContext&) {
  const DType from = in[0].dtype(), to = dtype_from_onnx(node.require_int("to"));
  const at::Tensor& x = in[0].tensor();
  QUENCH_CHECK(bits_of(from) == bits_of(to) && bits_of(to) > 0, "cannot reinterpret ", name_of(from), " as ",
               name_of(to), ": an element must have as many bits");
  if (bits_of(to) >= 8) return {RtValue(x.contiguous().view(scalar_type_of(to)), to)};
  const std::int64_t count = std::int64_t{1} << bits_of(to);
  const at::Tensor code = x.to(at::kInt).bitwise_and(count - 1);
  const bool extends = is_integer(to) && is_signed(to);
  return {RtValue(extends ? at::where(code.ge(count / 2), code - count, code).to(at::kChar) : code.to(at::kByte), to)};
}

void cast_shape(Node& node) {
  set_type(node, 0, dtype_from_onnx(node.require_int("to")), input_dims(node, 0));
  if (is_integer(node.output().dtype()) && bits_of(node.output().dtype()) >= 32)
    set_contents(node, input_contents(node, 0));
}

void cast_like_shape(Node& node) { set_type(node, 0, input_dtype(node, 1), input_dims(node, 0)); }

void bit_cast_shape(Node& node) { set_type(node, 0, dtype_from_onnx(node.require_int("to")), input_dims(node, 0)); }

}  // namespace

QUENCH_REGISTER_OP("Cast", cast, cast_shape, cast_traits(), "converts the elements to another type")
QUENCH_REGISTER_OP("CastLike", cast_like, cast_like_shape, cast_traits(), "converts to the type of another tensor")
QUENCH_REGISTER_OP("BitCast", bit_cast, bit_cast_shape, {}, "reads the same bits as another type")

}  // namespace quench
