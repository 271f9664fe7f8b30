// The attributes of a quantizer's node: algorithm, role, scheme, quantize_by, observe, quantize; all others are options
// of the algorithm.
#pragma once

#include <string>
#include <vector>

#include "quench/fake_quant.h"
#include "quench/graph.h"

namespace quench {

// Throws if an algorithm declares an option by the name of one of the others: the node could hold only one of the two.
void check_option_names(const std::string& algorithm, const std::vector<OptionInfo>& options);

}  // namespace quench
