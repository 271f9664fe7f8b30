// A user's settings laid over what a platform has by default.
#pragma once

#include "quench/platform.h"

namespace quench {

// Options go with the name that they were given for: naming another observer drops those of the old one.
void apply(const QuantSettings& settings, QuantizerDefaults& defaults);

}  // namespace quench
