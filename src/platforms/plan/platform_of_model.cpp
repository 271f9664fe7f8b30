#include "platforms/plan/platform_of_model.h"

#include "plugin/recorded_plugins.h"

namespace quench {

std::string platform_name_of(const QuantizedModel& model) {
  return hinting_at_plugins(model.graph.metadata, [&] { return platform_name(model.plan.platform); });
}

const Platform& platform_of(const QuantizedModel& model) { return find_platform(platform_name_of(model)); }

}  // namespace quench
