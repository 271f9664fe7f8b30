// adaround: learns whether each weight rounds down or up, layer by layer (Nagel et al., "Up or down? Adaptive rounding
// for post-training quantization", 2020, equations 21 to 25). Activations keep their scales.
#include "reconstruct/learn_rounding.h"

namespace quench {
namespace {

void learn(UnitWork& work, UnitRecord& record) { learn_rounding(work, record, false); }

// The scales of activations stay what calibration found.
std::vector<std::string> idle(const Options& options) {
  std::vector<std::string> names = idle_rounding_options(options);
  names.insert(names.begin(), "scale_lr");
  if (options.number("joint_count") > 0) names.emplace_back("joint_scale_lr");
  return names;
}

void join(UnitWork& network, UnitRecord& record) { learn_jointly(network, record, false); }

}  // namespace

QUENCH_REGISTER_PTQ_METHOD("adaround", learn,
                           "learns whether each weight rounds down or up, layer by layer (Nagel et al. 2020)",
                           rounding_options(1.0, 20000), "layer", check_rounding_options, join, joint_iterations,
                           learns_from_error, idle)

}  // namespace quench
