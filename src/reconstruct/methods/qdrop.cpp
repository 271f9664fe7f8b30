// qdrop: BRECQ with activations that are quantized at random, element by element, in the unit and in what enters it,
// which makes what is learned robust (Wei et al., "QDrop", 2022, equations 7 and 8).
#include "reconstruct/learn_rounding.h"

namespace quench {
namespace {

void learn(UnitWork& work, UnitRecord& record) { learn_rounding(work, record, true); }

void join(UnitWork& network, UnitRecord& record) { learn_jointly(network, record, true); }

}  // namespace

QUENCH_REGISTER_PTQ_METHOD("qdrop", learn, "BRECQ with activations quantized at random (Wei et al. 2022)",
                           rounding_options(0.5, 20000), "block", check_rounding_options, join, joint_iterations,
                           learns_from_error, idle_rounding_options)

}  // namespace quench
