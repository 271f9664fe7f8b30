// Scripts that let a shell complete commands, options and their values.
#pragma once

#include <string>
#include <vector>

#include "cli/command_tree.h"

namespace quench {

// `program` has the options that go before a command.
std::string bash_completion(const CommandFacts& program, const std::vector<CommandFacts>& commands);
std::string zsh_completion(const CommandFacts& program, const std::vector<CommandFacts>& commands);

}  // namespace quench
