// Activations: element-wise functions of one input, and SwiGLU, where another input is the gate's.
#include <ATen/ATen.h>

#include <cmath>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// at::sigmoid and the like, as evaluations.
template <at::Tensor (*Function)(const at::Tensor&)>
std::vector<RtValue> unary(const Node&, const Inputs& in, ExecContext&) {
  return {Function(in[0].tensor())};
}

std::vector<RtValue> leaky_relu(const Node& node, const Inputs& in, ExecContext&) {
  return {at::leaky_relu(in[0].tensor(), node.get_float("alpha", 0.01))};
}

std::vector<RtValue> elu(const Node& node, const Inputs& in, ExecContext&) {
  return {at::elu(in[0].tensor(), node.get_float("alpha", 1.0))};
}

std::vector<RtValue> selu(const Node& node, const Inputs& in, ExecContext&) {
  return {at::elu(in[0].tensor(), node.get_float("alpha", 1.67326319217681884765625),
                  node.get_float("gamma", 1.05070102214813232421875))};
}

std::vector<RtValue> celu(const Node& node, const Inputs& in, ExecContext&) {
  return {at::celu(in[0].tensor(), node.get_float("alpha", 1.0))};
}

// The slope broadcasts to x; one slope, or one per channel ([C, 1, 1]), is LibTorch's own prelu.
std::vector<RtValue> prelu(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &slope = in[1].tensor();
  const bool by_channel =
      x.dim() >= 2 && slope.dim() == x.dim() - 1 && slope.numel() == slope.size(0) && slope.size(0) == x.size(1);
  const bool one = slope.numel() == 1;
  if (x.is_floating_point() && (one || by_channel)) return {at::prelu(x, slope.reshape({-1}))};
  if (is_rare_integer(x)) return {x};  // never below zero
  return {at::where(x < 0, x * slope, x)};
}

std::vector<RtValue> hard_sigmoid(const Node& node, const Inputs& in, ExecContext&) {
  const double alpha = node.get_float("alpha", 0.2), beta = node.get_float("beta", 0.5);
  // The form of the mobile networks, alpha = 1/6 as a float, is LibTorch's own.
  if (std::abs(alpha - 1.0 / 6.0) < 1e-7 && beta == 0.5) return {at::hardsigmoid(in[0].tensor())};
  return {at::clamp(in[0].tensor() * alpha + beta, 0.0, 1.0)};
}

at::Tensor swish_of(const Node& node, const at::Tensor& x) {
  const double alpha = node.get_float("alpha", 1.0);
  return alpha == 1.0 ? at::silu(x) : x * at::sigmoid(x * alpha);
}

std::vector<RtValue> swish(const Node& node, const Inputs& in, ExecContext&) {
  return {swish_of(node, in[0].tensor())};
}

std::vector<RtValue> swiglu(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &gate = in[0].tensor(), &x = in[1].tensor();
  QUENCH_CHECK(gate.sizes() == x.sizes(), node.where(), ": the gate ", text_of(dims_of(gate)), " and the value ",
               text_of(dims_of(x)), " must have one shape; SwiGLU does not broadcast");
  return {swish_of(node, gate) * x};
}

std::vector<RtValue> gelu(const Node& node, const Inputs& in, ExecContext&) {
  return {at::gelu(in[0].tensor(), node.get_string("approximate", "none"))};
}

std::vector<RtValue> softplus(const Node&, const Inputs& in, ExecContext&) { return {at::softplus(in[0].tensor())}; }

std::vector<RtValue> softsign(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  return {x / (at::abs(x) + 1)};
}

std::vector<RtValue> thresholded_relu(const Node& node, const Inputs& in, ExecContext&) {
  return {at::threshold(in[0].tensor(), node.get_float("alpha", 1.0), 0)};
}

std::vector<RtValue> erf(const Node&, const Inputs& in, ExecContext&) {
  return {at::erf(in[0].tensor()).to(in[0].tensor().scalar_type())};
}

std::vector<RtValue> shrink(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const double bias = node.get_float("bias", 0.0), lambd = node.get_float("lambd", 0.5);
  const at::Tensor inner = at::where(x > lambd, x - bias, at::zeros_like(x));
  return {at::where(x < -lambd, x + bias, inner).to(x.scalar_type())};
}

// Bounds are read as numbers, except where they themselves are trained.
std::vector<RtValue> clip(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::optional<at::Tensor> low = optional_tensor(in, 1), high = optional_tensor(in, 2);
  if (!low && !high) return {x};
  if ((low && low->requires_grad()) || (high && high->requires_grad())) return {at::clamp(x, low, high)};
  if (is_rare_integer(x))
    return {at::clamp(x.to(at::kLong), low ? std::optional(low->to(at::kLong)) : low,
                      high ? std::optional(high->to(at::kLong)) : high)
                .to(x.scalar_type())};
  std::optional<at::Scalar> from, to;
  if (low) from = low->item();
  if (high) to = high->item();
  // A capped Relu: with the gradient of Relu6, which is zero on both bounds.
  if (from && to && x.is_floating_point() && from->toDouble() == 0.0 && to->toDouble() > 0.0)
    return {at::hardtanh(x, *from, *to)};
  return {at::clamp(x, from, to)};
}

// Both inputs have one shape: what either knows holds.
void swiglu_shape(Node& node) {
  const std::optional<Dims> gate = input_dims(node, 0), x = input_dims(node, 1);
  std::optional<Dims> y = gate ? gate : x;
  QUENCH_CHECK(!gate || !x || gate->size() == x->size(), node.where(), ": gate and value must have one shape");
  for (std::size_t i = 0; gate && x && i < y->size(); ++i)
    if (!(*y)[i].is_number()) (*y)[i] = (*x)[i];
  set_type(node, 0, input_dtype(node, 0), y);
}

OpTraits sign_keeping() {
  OpTraits traits;
  traits.keeps_sign = true;
  return traits;
}

OpTraits relu_traits() {
  OpTraits traits;
  traits.range = RangeRule::kPasses;
  traits.non_negative = true;
  return traits;
}

OpTraits threshold_traits() {
  OpTraits traits = sign_keeping();
  traits.range = RangeRule::kPasses;
  return traits;
}

OpTraits softplus_traits() {
  OpTraits traits;
  traits.non_negative = true;
  return traits;
}

OpTraits prelu_traits() {
  OpTraits traits = sign_keeping();
  traits.parameter_slots = {1};
  return traits;
}

OpTraits clip_traits() {
  OpTraits traits;
  traits.host_slots = {1, 2};
  return traits;
}

// [0, 1], or [-1, 1] for the odd functions.
OpTraits bounded(double low) {
  OpTraits traits;
  traits.range = RangeRule::kFixed;
  traits.fixed_min = low;
  traits.fixed_max = 1.0;
  traits.non_negative = low == 0.0;
  traits.keeps_sign = true;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Relu", unary<at::relu>, same_as_input, relu_traits(), "max(x, 0)")
QUENCH_REGISTER_OP("Sigmoid", unary<at::sigmoid>, same_as_input, bounded(0.0), "1 / (1 + exp(-x))")
QUENCH_REGISTER_OP("Tanh", unary<at::tanh>, same_as_input, bounded(-1.0), "hyperbolic tangent")
QUENCH_REGISTER_OP("LeakyRelu", leaky_relu, same_as_input, sign_keeping(), "x, or alpha x below zero")
QUENCH_REGISTER_OP("Elu", elu, same_as_input, sign_keeping(), "x, or alpha (exp(x) - 1) below zero")
QUENCH_REGISTER_OP("Selu", selu, same_as_input, sign_keeping(), "gamma times Elu")
QUENCH_REGISTER_OP("Celu", celu, same_as_input, sign_keeping(), "x, or alpha (exp(x / alpha) - 1) below zero")
QUENCH_REGISTER_OP("PRelu", prelu, same_as_input, prelu_traits(), "x, or slope x below zero")
QUENCH_REGISTER_OP("HardSigmoid", hard_sigmoid, same_as_input, bounded(0.0), "alpha x + beta, kept in [0, 1]")
QUENCH_REGISTER_OP("HardSwish", unary<at::hardswish>, same_as_input, sign_keeping(), "x HardSigmoid(x), alpha = 1/6")
QUENCH_REGISTER_OP("Swish", swish, same_as_input, sign_keeping(), "x sigmoid(alpha x)")
QUENCH_REGISTER_OP("SwiGLU", swiglu, swiglu_shape, sign_keeping(), "Swish of the gate, times the value")
QUENCH_REGISTER_OP("Mish", unary<at::mish>, same_as_input, sign_keeping(), "x tanh(softplus(x))")
QUENCH_REGISTER_OP("Gelu", gelu, same_as_input, sign_keeping(), "x times the normal distribution function")
QUENCH_REGISTER_OP("Softplus", softplus, same_as_input, softplus_traits(), "log(1 + exp(x))")
QUENCH_REGISTER_OP("Softsign", softsign, same_as_input, bounded(-1.0), "x / (1 + |x|)")
QUENCH_REGISTER_OP("ThresholdedRelu", thresholded_relu, same_as_input, threshold_traits(),
                   "x where above alpha, else 0")
QUENCH_REGISTER_OP("Erf", erf, same_as_input, bounded(-1.0), "the error function")
QUENCH_REGISTER_OP("Shrink", shrink, same_as_input, OpTraits{}, "x moved towards zero by bias, 0 within lambd")
QUENCH_REGISTER_OP("Clip", clip, same_as_input, clip_traits(), "x kept between two bounds")

}  // namespace quench
