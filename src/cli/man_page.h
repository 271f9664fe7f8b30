// The manual page, in the language of man(7).
#pragma once

#include <string>
#include <vector>

#include "cli/command_tree.h"

namespace quench {

std::string man_page(const CommandFacts& program, const std::vector<CommandFacts>& commands);

}  // namespace quench
