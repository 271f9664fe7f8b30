// vitis: AMD Vitis AI, power-of-two scales with trained thresholds; the bias is a tensor of its own.
// docs/platforms.md 1, 3, 5.9.

#include "quench/platform_parts.h"

namespace quench {
namespace {

// MaxPool is not listed: it passes its range on.
void annotate(PlanBuilder& plan) {
  static const std::set<std::string> ops = {"Conv",
                                            "ConvTranspose",
                                            "Gemm",
                                            "AveragePool",
                                            "GlobalAveragePool",
                                            "BatchNormalization",
                                            "Relu",
                                            "PRelu",
                                            "Resize",
                                            "Upsample",
                                            "Add",
                                            "Mul",
                                            "Concat"};
  plan.quantize_weights();
  if (!plan.parity()) quantize_graph_inputs(plan);
  for (const Layer& layer : plan.layers())
    if (plan.is_listed(layer, ops)) plan.quantize_output(layer, layer.output(), rule_for("output of", layer));
}

// The type decides how ties are rounded: "tensor" and "param" follow from the role, "input" does not.
void refine(PlanBuilder& plan) {
  for (const Value* input : plan.graph().inputs())
    if (PlanEntry* entry = plan.find(*input); entry && entry->fake_quant == "tqt")
      entry->fake_quant_options.set("type", std::string("input"));
}

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.affine = false,
                        .weights = Signs::kSigned,
                        .activations = Signs::kSigned,
                        .channel_weights = false,
                        .any_scale = false});
}

Platform vitis() {
  Platform platform;
  platform.aliases = {"Vitis"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric tensor pot"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor pot"));
  platform.weight.observer = "min_max_floor";
  // The reference's search, over all images at once instead of a vote of the batches (measured: docs/results.md).
  platform.activation.observer = "min_max_floor";
  platform.activation.observer_options = {{"type", "tensor"}};
  platform.reference = observed_by("pot_mode");
  platform.weight.fake_quant = platform.activation.fake_quant = "tqt";
  platform.bias = platform.weight;
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.refine = refine;
  platform.requantize = "half_up";
  platform.product = "vitis";
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("vitis", vitis,
                         "AMD Vitis AI; int8 with power-of-two scales, outputs of layers, bias included")

}  // namespace quench
