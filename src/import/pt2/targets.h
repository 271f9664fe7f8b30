// Which targets of a torch.export program have a counterpart.
#pragma once

#include <string>

#include "import/pt2/program.h"

namespace quench {

// "torch.ops.aten.relu_.default" -> "aten::relu_"; "" for what is not an operator.
std::string kind_of_target(const std::string& target);

// Checks of what the exporter already knew (assertions on sizes), which leave no trace in a graph.
bool is_assertion(const Pt2Node& node);

// Throws one error for all that are not supported, naming each target and the modules that use it.
void check_targets(const Pt2Program& program);

}  // namespace quench
