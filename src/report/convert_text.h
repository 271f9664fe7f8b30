// What a conversion did, for readers: JSON, and lines of text.
#pragma once

#include <string>

#include "quench/convert.h"
#include "report/json.h"

namespace quench {

Json json_of(const ConvertRecord& record);
std::string convert_text(const ConvertRecord& record);

}  // namespace quench
