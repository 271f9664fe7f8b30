// Branches and loops of a torch.export program (torch.cond, torch.while_loop), whose bodies are programs of their own:
// If and Loop. A body is given all that it reads, so every operand becomes a captured input of the node.
#pragma once

#include "import/pt2/program.h"

namespace quench {

class Pt2Calls;

bool is_control_target(const std::string& target);
void read_control(const Pt2Node& node, Pt2Calls& outer);

}  // namespace quench
