// onnxruntime: explicit Q/DQ for ONNX Runtime's integer kernels (docs/runtimes.md 2): uint8 activations, int8 weights
// per channel, int32 biases. The goal: every Conv and Gemm fused into an integer kernel.
#include "graph/border.h"
#include "platforms/plan/code_flow.h"
#include "quench/error.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

// MatMul's integer kernel gives float (MatMulIntegerToFloat), so that nothing after it need be codes. The functions
// are computed on codes by a table or by the runtime itself.
const CodeOperators& operators() {
  static const CodeOperators ops = {
      {"Conv", "ConvTranspose", "Gemm", "MatMul", "AveragePool", "GlobalAveragePool", "Resize"},
      {"MatMul"},
      {"Add", "Mul", "Concat"},
      {"Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Identity"}};
  return ops;
}

void annotate_output(PlanBuilder& plan, const CodeFlow& flow, const Layer& layer) {
  const Value& output = layer.output();
  if (!flow.gives_codes(layer))
    plan.leave_float(output, concat("'", layer.head().name(), "' multiplies codes and gives float"));
  else if (leaves_only(output) && plan.options().flag("float_output"))
    plan.leave_float(output, "an output of the model (float_output)");
  else
    plan.quantize_output(layer, output, rule_for("output of", layer));
}

void annotate(PlanBuilder& plan) {
  plan.quantize_weights();
  const CodeFlow flow(plan, operators());
  for (const Layer& layer : plan.layers()) {
    if (flow.computes_on_codes(layer)) {
      for (const Value* value : plan.activations_of(layer))
        plan.quantize_input(layer, *value, rule_for("input of", layer));
      annotate_output(plan, flow, layer);
    } else if (plan.is_excluded(layer)) {
      for (const Value* value : plan.activations_of(layer)) plan.quantize_input(layer, *value, "");  // notes the reason
    } else if (plan.is_listed(layer, operators().joins) || flow.is_small_product(layer)) {
      plan.leave_float(layer.output(), flow.why_float(layer));
    }
  }
  share_passed_codes(plan);
}

// What the runtime has no kernel for: a Gemm with scales per channel would stay float, and a MatMul whose weight has
// batches refuses to run.
std::string why_one_scale(const Layer& layer) {
  if (layer.op() == "Gemm") return "the runtime keeps a Gemm with scales per channel in float";
  if (layer.op() == "MatMul" && layer.head().input(1)->rank() > 2)
    return "the runtime has no MatMul with scales per channel of a weight with batches";
  return "";
}

void refine(PlanBuilder& plan) {
  weigh_squares_for_products(plan);
  for (PlanEntry* entry : plan.entries()) {
    if (entry->role != Role::kWeight || entry->scheme.granularity() != Granularity::kChannel) continue;
    const std::string why = why_one_scale(*plan.owner_of(*entry));
    if (!why.empty()) use_one_scale(*entry, why);
  }
}

// Codes of fewer than 8 bits are cut off in 8; nothing cuts off those in 16.
std::string refuses(const PlanEntry& entry, const Node*) {
  std::set<int> activation_bits = up_to_bits(8);
  activation_bits.insert(16);
  return beyond(entry, {.weight_bits = up_to_bits(8), .activation_bits = activation_bits});
}

// Measured on its optimized graphs (tests/e2e/runtime_fusion_test.cpp).
std::string float_kernels(const PlanEntry& entry) {
  if (!entry.derived_from.empty() || !entry.scheme.is_int()) return "";
  if (entry.role == Role::kWeight && entry.scheme.bits() <= 4)
    return "ONNX Runtime stores weights of 4 bits and fewer as int4 and computes these layers in float";
  if (entry.role == Role::kActivation && entry.scheme.bits() > 8)
    return "ONNX Runtime computes layers with 16-bit activations in float";
  return "";
}

Platform onnxruntime() {
  Platform platform;
  platform.aliases = {"ort"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric channel:0 narrow"));
  platform.activation.set_scheme(QScheme::parse("uint8 affine tensor"));
  observe_least_error(platform);
  platform.bias_correction = BiasCorrection::kFast;
  platform.smooth = true;
  platform.has_parity = false;
  platform.by = QuantizeBy::kDivision;
  platform.int32_bias = true;
  platform.requantize = "mlas";
  platform.product = "qdq";
  platform.groups = groups_with_clamps({"Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Mul"});
  platform.weighted = standard_weighted();
  platform.options = {{"float_output", 0.0, "leave the outputs of the model in float"}};
  platform.annotate = annotate;
  platform.refine = refine;
  platform.refuses = refuses;
  platform.float_kernels = float_kernels;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("onnxruntime", onnxruntime, "ONNX Runtime's integer kernels by Q/DQ; uint8 affine activations")

}  // namespace quench
