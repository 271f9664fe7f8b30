#pragma once

#include <string>

#include "quench/speed.h"
#include "report/json.h"

namespace quench {

Json json_of(const SpeedRecord& record);
std::string speed_text(const SpeedRecord& record, int steps);  // with the `steps` slowest layers

}  // namespace quench
