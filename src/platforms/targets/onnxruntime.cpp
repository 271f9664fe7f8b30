// onnxruntime: explicit Q/DQ for ONNX Runtime's integer kernels (docs/runtimes.md 2): uint8 activations, int8 weights
// per channel, int32 biases. What must come out: every Conv and Gemm fused into an integer kernel.
#include "graph/border.h"
#include "platforms/families/explicit_family.h"
#include "platforms/plan/code_flow.h"
#include "platforms/plan/settings.h"
#include "quench/error.h"

namespace quench {
namespace {

// MatMul's integer kernel gives float (MatMulIntegerToFloat), so that nothing behind it need be codes. The functions
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

// A Gemm with one scale a channel would stay float in the runtime.
void refine(PlanBuilder& plan) {
  weigh_squares_for_products(plan);
  for (PlanEntry* entry : plan.entries()) {
    const Layer* layer = plan.owner_of(*entry);
    if (entry->role != Role::kWeight || layer->op() != "Gemm") continue;
    QSchemeSpec scheme = entry->scheme.spec();
    if (scheme.granularity != Granularity::kChannel) continue;
    scheme.granularity = Granularity::kTensor;
    scheme.axis = 0;
    entry->scheme = QScheme(scheme);
    entry->rule += "; per tensor: the runtime keeps a Gemm with scales per channel in float";
  }
}

std::string refuses(const PlanEntry& entry, const Node*) {
  const QScheme& scheme = entry.scheme;
  if (!scheme.is_int()) return "the format of " + scheme.text();
  if (scheme.granularity() == Granularity::kGroup) return "scales per group in integer kernels";
  if (entry.role == Role::kWeight && scheme.bits() > 8) return concat(scheme.bits(), "-bit weights");
  if (entry.role == Role::kActivation && !scheme.per_tensor()) return "activations with a scale per channel";
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
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("onnxruntime", onnxruntime, "ONNX Runtime's integer kernels by Q/DQ; uint8 affine activations")

}  // namespace quench
