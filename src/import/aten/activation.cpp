// Activations of LibTorch -> Relu, Sigmoid, Clip, Gelu, HardSwish and the rest.
#include <ATen/ATen.h>

#include <limits>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

Value& self(AtenCall& call) { return call.tensor("self"); }

Value& clip(AtenCall& call, Value* low, Value* high) {
  if (high) return call.make("Clip", {&self(call), low, high});
  return low ? call.make("Clip", {&self(call), low}) : self(call);
}

Values map_relu6(AtenCall& call) {
  return {&clip(call, &call.scalar(0.0, call.dtype()), &call.scalar(6.0, call.dtype()))};
}

Values map_hardtanh(AtenCall& call) {
  return {&clip(call, &call.scalar(call.real("min_val", -1.0), call.dtype()),
                &call.scalar(call.real("max_val", 1.0), call.dtype()))};
}

// Bounds may be numbers or tensors; tensors of more than one element need Min and Max.
Values map_clamp(AtenCall& call) {
  Value* low = call.has("min") ? &call.operand("min", call.dtype()) : nullptr;
  Value* high = call.has("max") ? &call.operand("max", call.dtype()) : nullptr;
  Value& x = call.cast(self(call), call.dtype());
  const auto is_scalar = [](const Value* bound) { return !bound || (bound->has_rank() && bound->rank() == 0); };
  if (is_scalar(low) && is_scalar(high)) {
    if (high) return {&call.make("Clip", {&x, low, high})};
    return {&call.make("Clip", {&x, low})};
  }
  Value* result = &x;
  if (low) result = &call.make("Max", {result, low});
  if (high) result = &call.make("Min", {result, high});
  return {result};
}

Values map_gelu(AtenCall& call) {
  return {&call.make("Gelu", {&self(call)}, {{"approximate", call.text("approximate", "none")}})};
}

Values map_silu(AtenCall& call) {
  Value& x = self(call);
  return {&call.make("Mul", {&x, &call.aux("Sigmoid", {&x})})};
}

Values map_hardsigmoid(AtenCall& call) {
  return {&call.make("HardSigmoid", {&self(call)}, {{"alpha", 1.0 / 6.0}, {"beta", 0.5}})};
}

// scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1))
Values map_elu(AtenCall& call) {
  const bool plain = call.real("scale", 1.0) == 1.0 && call.real("input_scale", 1.0) == 1.0;
  QUENCH_CHECK(plain, call.where(), ": only scale = input_scale = 1 has a counterpart");
  return {&call.make("Elu", {&self(call)}, {{"alpha", call.real("alpha", 1.0)}})};
}

Values map_selu(AtenCall& call) { return {&call.make("Selu", {&self(call)})}; }
Values map_celu(AtenCall& call) { return {&call.make("Celu", {&self(call)}, {{"alpha", call.real("alpha", 1.0)}})}; }

Values map_leaky_relu(AtenCall& call) {
  return {&call.make("LeakyRelu", {&self(call)}, {{"alpha", call.real("negative_slope", 0.01)}})};
}

// The slope of each channel lies on axis 1; ONNX broadcasts from the last axis.
Values map_prelu(AtenCall& call) {
  Value &x = self(call), &weight = call.tensor("weight");
  const bool single = weight.dims().at(0).is_number() && weight.dims()[0].number() == 1;
  if (single || x.rank() <= 2) return {&call.make("PRelu", {&x, &weight})};
  std::vector<std::int64_t> axes;
  for (int i = 1; i < x.rank() - 1; ++i) axes.push_back(i);
  return {&call.make("PRelu", {&x, &call.aux("Unsqueeze", {&weight, &call.integers_constant(axes)})})};
}

Values map_softplus(AtenCall& call) {
  const double beta = call.real("beta", 1.0);
  if (beta == 1.0) return {&call.make("Softplus", {&self(call)})};
  Value& scale = call.scalar(beta, call.dtype());
  return {&call.make("Div", {&call.aux("Softplus", {&call.aux("Mul", {&self(call), &scale})}), &scale})};
}

Values map_threshold(AtenCall& call) {
  Value &x = self(call), &threshold = call.operand("threshold", call.dtype());
  return {&call.make("Where", {&call.aux("Greater", {&x, &threshold}), &x, &call.operand("value", call.dtype())})};
}

Values map_softmax(AtenCall& call) {
  Value& x = call.cast(self(call), call.dtype());
  return {&call.make(call.kind().find("log") == std::string::npos ? "Softmax" : "LogSoftmax", {&x},
                     {{"axis", std::int64_t{call.axis("dim", x.rank())}}})};
}

Values map_glu(AtenCall& call) {
  Value& x = self(call);
  const int axis = call.axis("dim", x.rank(), -1);
  Node& halves = call.graph().add("Split", call.graph().unique_name("glu.split"), {&x}, 2);
  halves.attrs = {{"axis", std::int64_t{axis}}, {"num_outputs", std::int64_t{2}}};
  return {&call.make("Mul", {&halves.output(0), &call.aux("Sigmoid", {&halves.output(1)})})};
}

Values map_log_sigmoid(AtenCall& call) {
  return {&call.make("Neg", {&call.aux("Softplus", {&call.aux("Neg", {&self(call)})})})};
}

// Identity in evaluation; alive when an executor trains.
Values map_dropout(AtenCall& call) {
  Value& x = call.tensor(call.has("input") ? "input" : "self");  // the in-place form calls it self
  Value& result = call.make("Dropout", {&x, &call.scalar(call.real("p", 0.5), DType::kFloat)});
  return {&result, nullptr};  // the native form gives the mask, too
}

}  // namespace

QUENCH_REGISTER_ATEN("relu6", map_relu6, "Clip")
QUENCH_REGISTER_ATEN("hardtanh", map_hardtanh, "Clip")
QUENCH_REGISTER_ATEN("clamp", map_clamp, "Clip; Max, Min")
QUENCH_REGISTER_ATEN("clip", map_clamp, "Clip; Max, Min")
QUENCH_REGISTER_ATEN("clamp_min", map_clamp, "Clip; Max")
QUENCH_REGISTER_ATEN("clamp_max", map_clamp, "Clip; Min")
QUENCH_REGISTER_ATEN("gelu", map_gelu, "Gelu")
QUENCH_REGISTER_ATEN("silu", map_silu, "Sigmoid, Mul")
QUENCH_REGISTER_ATEN("hardsigmoid", map_hardsigmoid, "HardSigmoid")
QUENCH_REGISTER_ATEN("elu", map_elu, "Elu")
QUENCH_REGISTER_ATEN("selu", map_selu, "Selu")
QUENCH_REGISTER_ATEN("celu", map_celu, "Celu")
QUENCH_REGISTER_ATEN("leaky_relu", map_leaky_relu, "LeakyRelu")
QUENCH_REGISTER_ATEN_LAYER("prelu", map_prelu, "PRelu")
QUENCH_REGISTER_ATEN("softplus", map_softplus, "Softplus")
QUENCH_REGISTER_ATEN("threshold", map_threshold, "Where")
QUENCH_REGISTER_ATEN("softmax", map_softmax, "Softmax")
QUENCH_REGISTER_ATEN("_softmax", map_softmax, "Softmax")
QUENCH_REGISTER_ATEN("log_softmax", map_softmax, "LogSoftmax")
QUENCH_REGISTER_ATEN("_log_softmax", map_softmax, "LogSoftmax")
QUENCH_REGISTER_ATEN("glu", map_glu, "Split, Sigmoid, Mul")
QUENCH_REGISTER_ATEN("log_sigmoid", map_log_sigmoid, "Softplus, Neg")
QUENCH_REGISTER_ATEN("native_dropout", map_dropout, "Dropout")
QUENCH_REGISTER_ATEN("dropout", map_dropout, "Dropout")

}  // namespace quench
