// One reader per layout. Each reads the whole tree and throws for keys that it does not know.
#pragma once

#include "config/tree.h"
#include "quench/config.h"

namespace quench {

void read_own(const Tree& tree, const std::string& path, JobConfig& job);  // applied over what the job already says
// Layouts of other tools. Their key `quench` holds keys of our own schema, for what they cannot express.
void read_mqbench(const Tree& tree, JobConfig& job);
void read_mmrazor(const Tree& tree, JobConfig& job);

}  // namespace quench
