// toy_chip: a platform in a plug-in. Inputs of layers as TensorRT has them, and those of Relu; observed by abs_max.
#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) {
  FamilyRule rule{inputs_family_ops()};
  rule.ops.insert("Relu");
  annotate_inputs(plan, rule);
}

std::string refuses(const PlanEntry& entry, const Node*) { return beyond(entry, {.affine = false}); }

Platform toy_chip() {
  Platform platform;
  platform.activation.observer = "abs_max";
  platform.weighted = standard_weighted();
  platform.product = "qdq";
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("toy_chip", toy_chip, "of a test: inputs of layers, Relu among them")

}  // namespace quench
