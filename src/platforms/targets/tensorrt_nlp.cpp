// tensorrt_nlp: transformers on TensorRT. docs/platforms.md 1 and 3. An Add of a number
// is not a layer.

#include <algorithm>

#include "quench/platform_parts.h"

namespace quench {
namespace {

// The sum of embeddings stays float: what it adds are rows of tables.
bool adds_embedding(const PlanBuilder& plan, const Layer& layer) {
  const std::vector<const Value*> operands = plan.activations_of(layer);
  return layer.op() == "Add" && std::any_of(operands.begin(), operands.end(), [&](const Value* value) {
           const Layer* producer = plan.producer_of(*value);
           return producer && producer->op() == "Gather" && plan.is_constant(*producer->head().input(0));
         });
}

// The attention mask is added to scores that were just divided or multiplied.
void annotate(PlanBuilder& plan) {
  annotate_inputs(
      plan, {.ops = {"Add", "MatMul", "Gemm"}, .merges = {{"Mul", "Add"}, {"Div", "Add"}}, .skips = adds_embedding});
}

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.affine = false, .weights = Signs::kSigned, .activations = Signs::kSigned});
}

Platform tensorrt_nlp() {
  Platform platform;
  platform.aliases = {"Tensorrt_NLP"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric channel:0 narrow"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor narrow"));
  observe_least_error(platform, observed_by("ema_min_max"));
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.product = "onnx";
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("tensorrt_nlp", tensorrt_nlp,
                         "transformers on TensorRT; int8 symmetric, inputs of Add, products and linear layers")

}  // namespace quench
