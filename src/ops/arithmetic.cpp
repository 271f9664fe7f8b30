// Element-wise arithmetic of two or more inputs, with NumPy's broadcasting.
#include <ATen/ATen.h>

#include "ops/number_rules.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

OpTraits keeps_sign() {
  OpTraits traits;
  traits.keeps_sign = true;
  return traits;
}

template <auto compute>
std::vector<RtValue> binary(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  const c10::ScalarType type = a.scalar_type();
  if (has_kernels(type)) return {compute(a, b)};
  return {narrow(compute(widen(a), widen(b)), type)};
}

// One input or more, from left to right.
template <auto compute>
at::Tensor folded(const Inputs& in) {
  at::Tensor result = ordered(in[0].tensor());
  for (std::size_t i = 1; i < in.size(); ++i) result = compute(result, ordered(in[i].tensor()));
  return from_ordered(result, in[0].tensor().scalar_type());
}

// Element by element on uint64, where LibTorch's int64 kernels would see a sign.
template <auto compute>
at::Tensor on_uint64(const at::Tensor& a, const at::Tensor& b) {
  const auto both = at::broadcast_tensors({a.cpu(), b.cpu()});
  const at::Tensor left = both[0].contiguous(), right = both[1].contiguous();
  at::Tensor result = at::empty(left.sizes(), left.options());
  const auto* x = left.const_data_ptr<std::uint64_t>();
  const auto* y = right.const_data_ptr<std::uint64_t>();
  auto* z = result.mutable_data_ptr<std::uint64_t>();
  for (std::int64_t i = 0; i < left.numel(); ++i) z[i] = compute(x[i], y[i]);
  return result.to(a.device());
}

at::Tensor plus(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }
at::Tensor minus(const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }
at::Tensor times(const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }
at::Tensor over(const at::Tensor& a, const at::Tensor& b) {
  return a.is_floating_point() || a.is_complex() ? at::div(a, b) : at::div(a, b, "trunc");
}

std::vector<RtValue> divide(const Node& node, const Inputs& in, ExecContext& context) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  if (a.scalar_type() != at::kUInt64) return binary<over>(node, in, context);
  return {on_uint64<[](std::uint64_t x, std::uint64_t y) {
    QUENCH_CHECK(y != 0, "division by zero");
    return x / y;
  }>(a, b)};
}

// Mod: the sign of the divisor, as Python's %; with fmod=1 the sign of the dividend, as C's.
std::vector<RtValue> modulo(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  const c10::ScalarType type = a.scalar_type();
  if (type == at::kUInt64) {
    return {on_uint64<[](std::uint64_t x, std::uint64_t y) {
      QUENCH_CHECK(y != 0, "division by zero");
      return x % y;
    }>(a, b)};
  }
  const bool c_like = node.get_int("fmod", 0) != 0;
  QUENCH_CHECK(c_like || !a.is_floating_point(), "Mod of floating-point tensors needs fmod=1");
  const at::Tensor left = widen(a), right = widen(b);
  return {narrow(c_like ? at::fmod(left, right) : at::remainder(left, right), type)};
}

// Pow: the result has the base's type, whatever the exponent's.
std::vector<RtValue> power(const Node& node, const Inputs& in, ExecContext&) {
  const c10::ScalarType type = in[0].tensor().scalar_type();
  at::Tensor base = widen(in[0].tensor()), exponent = widen(in[1].tensor());
  // A constant single exponent lets LibTorch use a square or a root.
  const Value* source = node.input(1);
  const bool fixed = source && source->is_constant() && exponent.numel() == 1 && exponent.dim() <= base.dim();
  if (base.is_floating_point() && fixed && !exponent.requires_grad()) {
    // Of the constant itself: reading a copy on a GPU would wait for all that it still has to do.
    const at::Tensor number = exponent.is_cpu() ? exponent : widen(source->tensor());
    return {narrow(at::pow(base, number.reshape({}).item()), type)};
  }
  if (base.is_floating_point()) {
    exponent = exponent.to(base.scalar_type());
  } else if (exponent.is_floating_point()) {
    base = base.to(at::kDouble);
    exponent = exponent.to(at::kDouble);
  } else {
    base = base.to(at::kLong);
    exponent = exponent.to(at::kLong);
  }
  return {narrow(at::pow(base, exponent), type)};
}

std::vector<RtValue> minimum(const Node&, const Inputs& in, ExecContext&) {
  return {folded<[](const at::Tensor& a, const at::Tensor& b) { return at::minimum(a, b); }>(in)};
}
std::vector<RtValue> maximum(const Node&, const Inputs& in, ExecContext&) {
  return {folded<[](const at::Tensor& a, const at::Tensor& b) { return at::maximum(a, b); }>(in)};
}
std::vector<RtValue> sum(const Node&, const Inputs& in, ExecContext&) { return {folded<plus>(in)}; }
std::vector<RtValue> mean(const Node&, const Inputs& in, ExecContext&) {
  return {at::div(folded<plus>(in), static_cast<double>(in.size()))};
}

std::vector<RtValue> bit_shift(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  const std::string direction = node.get_string("direction", "");
  QUENCH_CHECK(direction == "LEFT" || direction == "RIGHT", "direction must be LEFT or RIGHT, not '", direction, "'");
  const bool left = direction == "LEFT";
  if (a.scalar_type() == at::kUInt64 && !left)
    return {on_uint64<[](std::uint64_t x, std::uint64_t y) { return (y < 64 ? (x >> y) : 0); }>(a, b)};
  const at::Tensor x = widen(a), y = widen(b);
  return {narrow(left ? at::bitwise_left_shift(x, y) : at::bitwise_right_shift(x, y), a.scalar_type())};
}

template <auto compute>
std::vector<RtValue> bitwise(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  return {from_movable(compute(as_movable(a), as_movable(b)), a.scalar_type())};
}
at::Tensor bit_and(const at::Tensor& a, const at::Tensor& b) { return at::bitwise_and(a, b); }
at::Tensor bit_or(const at::Tensor& a, const at::Tensor& b) { return at::bitwise_or(a, b); }
at::Tensor bit_xor(const at::Tensor& a, const at::Tensor& b) { return at::bitwise_xor(a, b); }

// Shape arithmetic: exact on numbers; symbols as far as they can be written.
Dim subtract_dims(const Dim& a, const Dim& b) {
  if (b.is_number() && b.number() == 0) return a;
  if (a.certainly_equal(b)) return 0;
  std::int64_t difference = 0;
  if (!a.is_number() || !b.is_number() || __builtin_sub_overflow(a.number(), b.number(), &difference)) return {};
  return difference;
}
Dim multiply_dims(const Dim& a, const Dim& b) { return a * b; }
Dim divide_dims(const Dim& a, const Dim& b) {
  if (!a.is_number() || !b.is_number()) return divide_exactly(a, b);
  return b.number() == 0 || b.number() == -1 ? divide_exactly(a, b) : Dim(a.number() / b.number());
}
Dim min_dims(const Dim& a, const Dim& b) {
  return a.is_number() && b.is_number() ? Dim(std::min(a.number(), b.number())) : Dim();
}
Dim max_dims(const Dim& a, const Dim& b) {
  return a.is_number() && b.is_number() ? Dim(std::max(a.number(), b.number())) : Dim();
}
Dim modulo_dims(const Dim& a, const Dim& b) {
  if (!a.is_number() || !b.is_number() || a.number() < 0 || b.number() <= 0) return {};
  return a.number() % b.number();
}

template <Dim (*rule)(const Dim&, const Dim&)>
void arithmetic_shape(Node& node) {
  broadcast_inputs(node);
  if (node.inputs().size() == 2) set_contents(node, combine_contents(node, rule));
}

}  // namespace

QUENCH_REGISTER_OP("Add", binary<plus>, arithmetic_shape<add_dims>, keeps_sign(), "a + b")
QUENCH_REGISTER_OP("Sub", binary<minus>, arithmetic_shape<subtract_dims>, {}, "a - b")
QUENCH_REGISTER_OP("Mul", binary<times>, arithmetic_shape<multiply_dims>, keeps_sign(), "a * b")
QUENCH_REGISTER_OP("Div", divide, arithmetic_shape<divide_dims>, keeps_sign(), "a / b; integers truncate")
QUENCH_REGISTER_OP("Mod", modulo, arithmetic_shape<modulo_dims>, keeps_sign(), "remainder of a / b")
QUENCH_REGISTER_OP("Pow", power, broadcast_inputs, keeps_sign(), "a to the power of b")
QUENCH_REGISTER_OP("Min", minimum, arithmetic_shape<min_dims>, keeps_sign(), "least of the inputs")
QUENCH_REGISTER_OP("Max", maximum, arithmetic_shape<max_dims>, keeps_sign(), "greatest of the inputs")
QUENCH_REGISTER_OP("Sum", sum, broadcast_inputs, keeps_sign(), "sum of the inputs")
QUENCH_REGISTER_OP("Mean", mean, broadcast_inputs, keeps_sign(), "mean of the inputs")
QUENCH_REGISTER_OP("BitShift", bit_shift, broadcast_inputs, {}, "shifts the bits of a by b places")
QUENCH_REGISTER_OP("BitwiseAnd", bitwise<bit_and>, broadcast_inputs, {}, "a & b")
QUENCH_REGISTER_OP("BitwiseOr", bitwise<bit_or>, broadcast_inputs, {}, "a | b")
QUENCH_REGISTER_OP("BitwiseXor", bitwise<bit_xor>, broadcast_inputs, {}, "a ^ b")

}  // namespace quench
