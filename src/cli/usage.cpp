#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {

void check_command_name(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
    names.insert(names.end(), command->get_aliases().begin(), command->get_aliases().end());
  }
  for (const std::string& name : names)
    if (name == arguments[0]) return;
  fail_unknown_name("command", arguments[0], names);
}

std::string explain_extra_arguments(const CLI::App& command) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::vector<std::string> extras = command.remaining();
  QUENCH_CHECK(!extras.empty(), "an argument was not expected");
  const std::string& extra = extras.front();
  if (extra.size() < 2 || extra[0] != '-') {
    const bool takes_settings = std::find(known.begin(), known.end(), "--set") != known.end();
    const bool is_setting = extra.find('=') != std::string::npos;
    return concat(
        "unexpected argument '", extra, "'",
        takes_settings && is_setting ? concat("; --set takes one setting: write --set ", extra, ", too") : "");
  }
  const std::string option = extra.substr(0, extra.find('='));
  const std::string nearest = nearest_name(option, known);
  return concat("unknown option '", option, "'", nearest.empty() ? "" : concat("; did you mean '", nearest, "'?"));
}

std::string explain_missing_command(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  check_command_name(app, extras);
  return extras.empty() ? "no command was given" : explain_extra_arguments(app);
}

std::string help_hint(const CLI::App& command) {
  return concat("see 'quench ", command.get_parent() ? command.get_name() + " " : "", "--help'");
}

const CLI::App& called_command(const CLI::App& app) {
  const std::vector<CLI::App*> called = app.get_subcommands();
  return called.empty() ? app : *called.front();
}

}  // namespace quench
