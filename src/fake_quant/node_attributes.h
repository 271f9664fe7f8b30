// The attributes of a quench.FakeQuant that are not options of its algorithm.
#pragma once

#include <string>
#include <vector>

#include "quench/options.h"

namespace quench {

bool is_node_attribute(const std::string& name);
// Throws if an algorithm declares an option by the name of one of them: the node could hold only one of the two.
void check_option_names(const std::string& algorithm, const std::vector<OptionInfo>& options);

}  // namespace quench
