// The parts of MQBench's layouts.
#pragma once

#include "config/parts.h"

namespace quench {

void read_extra_qconfig(MapReader map, JobConfig& job);                     // extra_qconfig_dict
void read_nlp_qconfig(MapReader map, Role role, bool pot, JobConfig& job);  // a_qconfig, w_qconfig
void read_prepare_dict(MapReader& map, JobConfig& job);                     // prepare_custom_config_dict
void read_reconstruction(MapReader& map, bool wanted, JobConfig& job);      // of `quantize`; unwanted: checked alone

// Our own keys, their `method` laid over the reconstruction that the job has from the layout: its options stay, unless
// another method is named that does not have them, or that they would make the old one. The job gets a note of those.
Tree with_reconstruction(Tree own, const Tree& layout, JobConfig& job);

}  // namespace quench
