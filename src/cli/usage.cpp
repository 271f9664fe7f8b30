#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

// Of "--set a=1 b=2 model.onnx" the "b=2", which stands where the model should; "": there is none.
std::string stray_setting(const CLI::App& command, const std::string& extra) {
  if (!command.get_option_no_throw("--set")) return "";
  const auto is_setting = [](const std::string& word) { return word.find('=') != std::string::npos; };
  if (is_setting(extra)) return extra;
  const CLI::Option* model = command.get_option_no_throw("model");
  if (!model || model->empty() || std::filesystem::exists(model->results().front())) return "";
  return is_setting(model->results().front()) ? model->results().front() : "";
}

}  // namespace

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
    const std::string setting = stray_setting(command, extra);
    return concat("unexpected argument '", extra, "'",
                  setting.empty() ? "" : concat("; --set takes one setting: write --set ", setting, ", too"));
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

std::string explain_conversion(const CLI::App& command, const std::string& message) {
  const std::string before = "Could not convert: ", between = " = ";
  const std::size_t at = message.find(between);
  if (!message.starts_with(before) || at == std::string::npos) return message;
  const std::string name = message.substr(before.size(), at - before.size());
  const CLI::Option* option = command.get_option_no_throw(name);
  const bool is_switch = option && option->get_expected_min() == 0;
  return concat(name, is_switch ? " is true or false, not '" : " takes a number, not '",
                message.substr(at + between.size()), "'");
}

std::string help_hint(const CLI::App& command) {
  return concat("see 'quench ", command.get_parent() ? command.get_name() + " " : "", "--help'");
}

const CLI::App& called_command(const CLI::App& app) {
  const std::vector<CLI::App*> called = app.get_subcommands();
  return called.empty() ? app : *called.front();
}

}  // namespace quench
