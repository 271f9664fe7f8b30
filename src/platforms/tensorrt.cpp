// tensorrt: NVIDIA TensorRT with range files, as MQBench's BackendType.Tensorrt. platforms.md 1 and 3, "inputs".
#include "platforms/inputs_family.h"

namespace quench {
namespace {

Platform tensorrt() {
  Platform platform;
  platform.aliases = {"Tensorrt"};
  platform.weight.scheme = QScheme::parse("int8 symmetric channel:0 narrow").spec();
  platform.activation.scheme = QScheme::parse("int8 symmetric tensor narrow").spec();
  platform.activation.observer = "ema_min_max";
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.product = "range_json";
  platform.annotate = annotate_inputs;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("tensorrt", tensorrt, "TensorRT with a file of ranges; int8 symmetric, inputs of layers")

}  // namespace quench
