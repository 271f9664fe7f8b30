// The options that a kind of data takes.
#pragma once

#include "quench/data.h"

namespace quench {

// Throws for a kind or an option that is not known, with the nearest.
void check_options(const DatasetSpec& spec);

}  // namespace quench
