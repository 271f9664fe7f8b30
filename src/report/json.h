// JSON as records and commands write it: keys stay in the order in which they are set.
#pragma once

#include <nlohmann/json.hpp>

namespace quench {

using Json = nlohmann::ordered_json;

}  // namespace quench
