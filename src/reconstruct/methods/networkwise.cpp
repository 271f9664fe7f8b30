// networkwise: QDrop in blocks, for a short time, then all of the network together: weights go to any code, straight
// through the rounding, until the network gives what the float one gives on varied images (network-wise from the
// beginning: Wang et al., "Leveraging Inter-Layer Dependency for Post-Training Quantization", 2022; few images that
// vary a lot, seen alike by both networks: Beyer et al., "Knowledge distillation: A good teacher is patient and
// consistent", 2022, section 3; windows of other images: Yun et al., "CutMix", 2019). Scales and biases learn as well.
#include "reconstruct/learn_rounding.h"
#include "reconstruct/method_options.h"

namespace quench {
namespace {

void learn(UnitWork& work, UnitRecord& record) { learn_rounding(work, record, true); }

void join(UnitWork& network, UnitRecord& record) { learn_jointly(network, record, true); }

// The rates of units are those of docs/results.md's `tuned`, chosen on data_batch_2; what `join` does was chosen on
// images that the float network had not seen, with 3,000 and 10,000 joint iterations. 7,000 was not chosen on anything:
// it is what is left of 8,000 in all.
std::vector<OptionInfo> options() {
  return with_fallbacks(rounding_options(0.5, 1000), {{"lr", 3e-3},
                                                      {"weight_scale_lr", 3e-4},
                                                      {"bias_lr", 1e-3},
                                                      {"joint_count", 7000.0},
                                                      {"joint_round_mode", std::string("straight_through")},
                                                      {"joint_lr", 1e-2},
                                                      {"joint_augment", std::string("auto")}});
}

}  // namespace

QUENCH_REGISTER_PTQ_METHOD("networkwise", learn,
                           "QDrop in blocks, for a short time, then all of the network together, on varied images",
                           options(), "block", check_rounding_options, join, joint_iterations, learns_from_error,
                           idle_rounding_options)

}  // namespace quench
