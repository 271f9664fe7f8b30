// brecq: AdaRound's rounding over whole blocks, so that the layers of one make up for each other, together with the
// scales of activations (Li et al., "BRECQ", 2021, section 3.2), with the plain squared error in place of its
// Fisher-weighted one.
#include "reconstruct/learn_rounding.h"

namespace quench {
namespace {

void learn(UnitWork& work, UnitRecord& record) { learn_rounding(work, record, true); }

void join(UnitWork& network, UnitRecord& record) { learn_jointly(network, record, true); }

}  // namespace

QUENCH_REGISTER_PTQ_METHOD("brecq", learn, "AdaRound over blocks, with the scales of activations (Li et al. 2021)",
                           rounding_options(1.0, 20000), "block", check_rounding_options, join, joint_iterations,
                           learns_from_error, idle_rounding_options)

}  // namespace quench
