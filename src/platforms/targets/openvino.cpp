// openvino: Intel OpenVINO. Each tensor is decided by its producer; weights keep one bit free against saturation on
// processors without VNNI. docs/platforms.md 1 and 3.
#include <algorithm>

#include "graph/border.h"
#include "platforms/plan/code_flow.h"
#include "platforms/targets/openvino_signs.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

bool is_academic(const PlanBuilder& plan) { return plan.options().flag("academic_mode"); }

const std::set<std::string>& listed_ops(const PlanBuilder& plan) {
  static const std::set<std::string> all = {"Conv",   "Gemm", "MaxPool", "AveragePool", "GlobalAveragePool",
                                            "Resize", "Add",  "Flatten", "ReduceMean",  "ReduceSum"};
  static const std::set<std::string> academic = {"Conv", "Gemm", "MaxPool", "AveragePool", "GlobalAveragePool"};
  return is_academic(plan) ? academic : all;
}

// "" or why nothing is quantized after this layer, whatever reads it.
std::string stays_float(const PlanBuilder& plan, const Layer& layer, const Value& value) {
  if (layer.op() == "Concat" && !is_academic(plan)) return "a Concat: its operands are quantized";
  if (is_model_output(value)) return "an output of the network";
  if (layer.op() != "MaxPool" && layer.op() != "Flatten") return "";
  for (const Layer* consumer : plan.consumers_of(value))
    if (consumer->op() == "Conv" || consumer->op() == "Gemm" || consumer->op() == "MatMul")
      return "passes the range of its input on";
  return "";
}

// The reference quantizes what every Add reads; the runtime gains nothing where codes would be made for it alone.
const CodeOperators& operators() {
  static const CodeOperators ops = {
      {"Conv", "ConvTranspose", "Gemm", "MatMul", "MaxPool", "AveragePool", "GlobalAveragePool"},
      {"Gemm", "MatMul"},
      {"Add", "ReduceMean", "ReduceSum", "Resize", "Concat"},
      {"Relu", "Clip", "Flatten", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Mul"}};
  return ops;
}

bool computes_on_codes(const PlanBuilder& plan, const CodeFlow& flow, const Layer& layer) {
  return plan.parity() || !operators().joins.contains(layer.op()) || flow.computes_on_codes(layer);
}

void quantize_behind(PlanBuilder& plan, const CodeFlow& flow, const Layer& layer, const Value& value) {
  const std::string reason = stays_float(plan, layer, value);
  for (const Layer* consumer : plan.consumers_of(value)) {
    const bool listed = plan.is_listed(*consumer, listed_ops(plan));
    if (listed && reason.empty() && !computes_on_codes(plan, flow, *consumer))
      plan.leave_float(value, flow.why_float(*consumer));
    const bool wanted =
        plan.is_forced(*consumer) || (reason.empty() && listed && computes_on_codes(plan, flow, *consumer));
    if (!wanted) continue;
    // The reference's exclusions refer to the producer of a tensor, ours to the layer that asks for it.
    plan.quantize_input(plan.parity() ? layer : *consumer, value, rule_for("input of", *consumer));
  }
  if (!reason.empty()) plan.leave_float(value, reason);
}

void annotate(PlanBuilder& plan) {
  plan.quantize_weights();
  quantize_graph_inputs(plan);
  const CodeFlow flow(plan, operators());
  for (const Layer& layer : plan.layers())
    for (const Value* output : layer.last().outputs())
      if (output) quantize_behind(plan, flow, layer, *output);
}

// What a MatMul reads (norms, activation functions, attention) lies on both sides of zero, but not evenly: affine
// codes, which the runtime takes at no cost, are worth a bit there.
void centre_transformers(PlanBuilder& plan) {
  const QuantSettings& said = plan.config().activation;
  if (said.symmetric || said.is_signed) return;
  for (PlanEntry* entry : plan.entries()) {
    if (entry->role != Role::kActivation || !entry->scheme.is_int() || plan.has_user_rule(*entry)) continue;
    const std::vector<const Layer*> readers = plan.consumers_of(plan.graph().value(entry->value));
    const bool multiplied =
        std::all_of(readers.begin(), readers.end(), [](const Layer* layer) { return layer->op() == "MatMul"; });
    QSchemeSpec spec = entry->scheme.spec();
    if (readers.empty() || !multiplied || !spec.is_signed) continue;
    spec.symmetric = spec.is_signed = spec.narrow = false;
    entry->scheme = QScheme(spec);
    entry->rule += "; affine: it lies unevenly around zero";
  }
}

void refine(PlanBuilder& plan) {
  if (!plan.parity()) weigh_squares_for_products(plan);
  for (PlanEntry* entry : plan.entries()) {
    if (entry->role != Role::kWeight || !entry->scheme.is_int()) continue;
    QSchemeSpec spec = entry->scheme.spec();
    if (plan.parity() && spec.bits == 8) spec.bits = 7;  // the reference knows no other
    if (!spec.symmetric) spec.is_signed = false;         // 0..127
    spec.narrow = spec.narrow || (is_academic(plan) && spec.symmetric);
    entry->scheme = QScheme(spec);
  }
  choose_signs(plan);
  if (!plan.parity()) centre_transformers(plan);
}

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.weight_bits = {2, 3, 4, 5, 6, 7, 8}, .activation_bits = {2, 3, 4, 5, 6, 7, 8}});
}

Platform openvino() {
  Platform platform;
  platform.weight.set_scheme(QScheme::parse("int7 symmetric channel:0"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor"));
  observe_least_error(platform, observed_by("ema_min_max"));
  correct_by_default(platform);
  platform.smooth = true;
  platform.groups = standard_groups();
  platform.unfused_option = "academic_mode";
  platform.weighted = standard_weighted();
  platform.options = {{"academic_mode", 0.0, "no fusion, weights in -63..63, only Conv, Gemm and pools"}};
  platform.requantize = "affine";
  platform.product = "openvino";
  platform.annotate = annotate;
  platform.refine = refine;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("openvino", openvino,
                         "Intel OpenVINO; 7-bit weights, 8-bit activations, unsigned where they can be")

}  // namespace quench
