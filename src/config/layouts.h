// One reader a layout. Each reads the whole tree and throws for keys that it does not know.
#pragma once

#include "config/tree.h"
#include "quench/config.h"

namespace quench {

void read_own(const Tree& tree, const std::string& path, JobConfig& job);

}  // namespace quench
