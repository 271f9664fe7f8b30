// The loop that AdaRound, BRECQ and QDrop share (docs/numerics.md 15): the rounding of a unit's weights learns, with or
// without the scales of its activations, until the unit's output is that of the float network.
#pragma once

#include "quench/ptq_method.h"

namespace quench {

// Options of every method over this loop.
std::vector<OptionInfo> rounding_options(double prob, double iterations);

void check_rounding_options(const Options& options);

void learn_rounding(UnitWork& work, UnitRecord& record, bool learn_scales);
// Whether the loss of a unit is its squared error and nothing else (PtqMethod::keeps_better).
bool learns_from_error(const Options& options);
std::vector<std::string> idle_rounding_options(const Options& options);  // PtqMethod::idle

// Of all units together: `joint_count`. Throws where `joint_augment` has nothing to vary, or `prediction` no logits.
std::int64_t joint_iterations(const Options& options, const Graph& network);
void learn_jointly(UnitWork& network, UnitRecord& record, bool learn_scales);

}  // namespace quench
