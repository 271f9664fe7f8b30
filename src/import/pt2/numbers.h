// Numbers that a torch.export program computes from shapes: sym_size, and Python's operators on what it gives.
#pragma once

#include <string>
#include <vector>

#include "import/aten/aten.h"

namespace quench {

// "_operator.mul" and the like.
bool is_number_target(const std::string& target);

// The result as an integer that a graph can compute, as an expression of one dim if possible, else
// by nodes. `dim`: what the program says about it.
AtenInt compute_number(AtenCall& call, const std::string& target, const std::vector<AtenInt>& operands, const Dim& dim);

}  // namespace quench
