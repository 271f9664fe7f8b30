// qdq: the schemes of tensorrt, written as QuantizeLinear and DequantizeLinear (MQBench's BackendType.ONNX_QDQ).

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.affine = false, .weights = Signs::kSigned, .activations = Signs::kSigned});
}

Platform qdq() {
  Platform platform;
  platform.aliases = {"QDQ"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric channel:0 narrow"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor narrow"));
  observe_least_error(platform, observed_by("ema_min_max"));
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.product = "mqbench_qdq";
  platform.annotate = annotate_inputs;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("qdq", qdq, "ONNX with Q/DQ pairs; int8 symmetric, inputs of layers")

}  // namespace quench
