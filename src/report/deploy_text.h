// What a deployment wrote: for people, and as JSON.
#pragma once

#include <string>

#include "quench/deploy.h"
#include "report/json.h"

namespace quench {

// `folder` holds the written files: their sizes are shown.
std::string deployment_text(const Deployment& deployment, const std::string& folder);
Json json_of(const Deployment& deployment, const std::string& folder);

}  // namespace quench
