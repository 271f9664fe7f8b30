// What reconstruction wants of quantizers that nobody chose: docs/numerics.md 15.4.
#pragma once

#include "quench/config.h"

namespace quench {

// For a platform without schemes of its own (academic): asymmetric, weights per channel, ranges by least error. On
// others, and without a method, nothing changes.
JobConfig with_method_defaults(JobConfig config);

// The method's options. Nothing stops early where a reference is re-created; that is noted.
Options method_options(const JobConfig& config, std::vector<std::string>& notes);

}  // namespace quench
