// quench/side_file.h, and files beside the model in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "quench/side_file.h"

namespace quench {

using Json = nlohmann::ordered_json;

// Throws where no map in it holds anything. Names are escaped; a number reads back as the double that it was.
DeployFile json_file(const DeployJob& job, const std::string& suffix, const Json& content, const std::string& what);

void check_tensors(const Graph& model, const Json& by_tensor);  // its keys

}  // namespace quench
