// ncnn: the inputs of Conv and Gemm only, in a text table of two lines per layer; what is requantized between two int8
// layers ncnn decides itself.
#include "quench/error.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) {
  plan.quantize_weights();
  for (const Layer& layer : plan.layers()) {
    if (!plan.has_weight(layer) && !plan.is_forced(layer)) continue;
    for (const Value* value : plan.activations_of(layer))
      plan.quantize_input(layer, *value, rule_for("input of", layer));
  }
}

// A convolution in groups has one scale per group in ncnn: with several channels in each, the weight has one for all.
void refine(PlanBuilder& plan) {
  for (PlanEntry* entry : plan.entries()) {
    const Layer* layer = plan.owner_of(*entry);
    const std::int64_t groups = layer->head().get_int("group", 1);
    if (entry->role != Role::kWeight || groups == 1 || entry->scheme.per_tensor()) continue;
    if (layer->head().input(1)->dims()[0].certainly_equal(groups)) continue;
    use_one_scale(*entry, "ncnn has one scale per group");
  }
}

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.affine = false,
                        .weights = Signs::kSigned,
                        .activations = Signs::kSigned,
                        .lowest_code = false,
                        .group_weights = true});
}

Platform ncnn() {
  Platform platform;
  platform.weight.set_scheme(QScheme::parse("int8 symmetric channel:0 narrow"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor narrow"));
  platform.activation.observer = "kl";
  platform.bias_correction = BiasCorrection::kFast;  // measured: docs/results.md
  platform.has_parity = false;
  platform.requantize = "away";
  platform.product = "ncnn_table";
  platform.groups = groups_with_clamps({"Conv", "Gemm", "MatMul"});
  platform.weighted = {"Conv", "Gemm", "MatMul"};
  platform.annotate = annotate;
  platform.refine = refine;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("ncnn", ncnn, "ncnn's table of scales; int8 symmetric, inputs of Conv and Gemm")

}  // namespace quench
