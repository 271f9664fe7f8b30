// The parts of MQBench's layouts.
#pragma once

#include "config/parts.h"

namespace quench {

void read_extra_qconfig(MapReader map, JobConfig& job);                     // extra_qconfig_dict
void read_nlp_qconfig(MapReader map, Role role, bool pot, JobConfig& job);  // a_qconfig, w_qconfig
void read_prepare_dict(MapReader& map, JobConfig& job);                     // prepare_custom_config_dict

}  // namespace quench
