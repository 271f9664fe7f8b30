// onnxruntime: explicit Q/DQ for ONNX Runtime's integer kernels (runtimes.md 2): uint8 activations, int8 weights per
// channel, int32 biases. What must come out: every Conv and Gemm fused into an integer kernel.
#include "platforms/explicit_family.h"
#include "quench/error.h"

namespace quench {
namespace {

const std::set<std::string>& listed() {
  static const std::set<std::string> ops = {
      "Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Mul", "Concat", "AveragePool", "GlobalAveragePool", "Resize"};
  return ops;
}

// Functions of one tensor that the runtime computes on codes, by a table or by itself.
bool is_activation_function(const std::string& op) {
  static const std::set<std::string> ops = {"Relu", "Clip",        "LeakyRelu", "Sigmoid",
                                            "Tanh", "HardSigmoid", "HardSwish", "Identity"};
  return ops.contains(op);
}

// Layers that are computed on codes, so far.
using Integers = std::set<const Layer*>;

bool comes_in_codes(const PlanBuilder& plan, const Integers& integers, const Value& value) {
  const Layer* producer = plan.producer_of(value);
  if (!producer || integers.contains(producer)) return true;  // an input of the model is quantized where it is read
  const bool passes = passes_codes(plan, *producer) || is_activation_function(producer->op());
  return passes && producer->head().input(0) && comes_in_codes(plan, integers, *producer->head().input(0));
}

// Operators that only join tensors gain nothing from codes which must be made for them: the residual stream of a
// transformer, the squares of its norms and its rotary embeddings, where eight bits cost most, stay float.
const Value* float_operand(const PlanBuilder& plan, const Integers& integers, const Layer& layer) {
  if (plan.is_forced(layer) || (layer.op() != "Add" && layer.op() != "Mul" && layer.op() != "Concat")) return nullptr;
  for (const Value* value : plan.activations_of(layer))
    if (!comes_in_codes(plan, integers, *value)) return value;
  return nullptr;
}

void annotate(PlanBuilder& plan) {
  plan.quantize_weights();
  Integers integers;
  for (const Layer& layer : plan.layers()) {
    if (!plan.is_listed(layer, listed()) || passes_codes(plan, layer)) continue;
    if (const Value* operand = float_operand(plan, integers, layer)) {
      plan.leave_float(layer.output(),
                       concat("'", layer.head().name(), "' joins '", operand->name(), "', which is float"));
      continue;
    }
    if (!plan.is_excluded(layer)) integers.insert(&layer);
    for (const Value* value : plan.activations_of(layer))
      plan.quantize_input(layer, *value, rule_for("input of", layer));
    const Value& output = layer.output();
    if (output.is_graph_output() && output.uses().empty() && plan.options().flag("float_output"))
      plan.leave_float(output, "an output of the model (float_output)");
    else
      plan.quantize_output(layer, output, rule_for("output of", layer));
  }
  share_passed_codes(plan);
}

// A Gemm with one scale a channel would stay float in the runtime.
void refine(PlanBuilder& plan) {
  keep_outputs_whole(plan);
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
  platform.weight.scheme = QScheme::parse("int8 symmetric channel:0 narrow").spec();
  platform.activation.scheme = QScheme::parse("uint8 affine tensor").spec();
  platform.activation.observer = "mse";
  platform.activation.observer_options = {{"p", 1.5}};  // measured: docs/results.md
  platform.bias_correction = BiasCorrection::kFast;
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
