// blockwise: QDrop in which all that a block has learns: its weights go to any code, not only down or up, straight
// through the rounding (blocks trained like that: Chen et al., "EfficientQAT", 2024, section 3.2), with their scales
// (Genie-M, Jeon et al. 2023, section 4.2), the scales of activations and the biases.
#include "reconstruct/learn_rounding.h"
#include "reconstruct/method_options.h"

namespace quench {
namespace {

void learn(UnitWork& work, UnitRecord& record) { learn_rounding(work, record, true); }

void join(UnitWork& network, UnitRecord& record) { learn_jointly(network, record, true); }

// Chosen on images that no table reports (docs/results.md, Learned rounding).
std::vector<OptionInfo> options() {
  return with_fallbacks(
      rounding_options(0.5, 1000),
      {{"round_mode", std::string("straight_through")}, {"lr", 1e-2}, {"weight_scale_lr", 3e-4}, {"bias_lr", 1e-3}});
}

}  // namespace

QUENCH_REGISTER_PTQ_METHOD("blockwise", learn,
                           "QDrop in which weights go to any code, and their scales and biases learn, too", options(),
                           "block", check_rounding_options, join, joint_iterations, learns_from_error,
                           idle_rounding_options)

}  // namespace quench
