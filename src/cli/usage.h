// Mistakes on the command line: found, and answered with the nearest valid alternative.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace quench {

// Throws quench::Error for a first word that is not a command. Call it before parsing.
void check_command_name(const CLI::App& app, const std::vector<std::string>& arguments);

// The message for unused arguments.
std::string explain_extra_arguments(const CLI::App& command);

// The message if no command was called: none was given, or a word that is not one (which throws).
std::string explain_missing_command(const CLI::App& app);

// "--lr takes a number, not 'fast'", of CLI11's message for a value that it could not convert.
std::string explain_conversion(const CLI::App& command, const std::string& message);

// "see 'quench eval --help'"
std::string help_hint(const CLI::App& command);

// The sub-command that was called, or the program itself.
const CLI::App& called_command(const CLI::App& app);

}  // namespace quench
