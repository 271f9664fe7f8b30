// quench help and quench completion: what the parser knows, for people, man and shells.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/usage.h"
#include "quench/registry.h"

namespace quench {
namespace {

std::string help_of(const CLI::App& app, const std::string& command) {
  // Not app.help(): that is the help of the command that was called, which is this one.
  if (command.empty()) return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  check_command_name(app, {command});
  return app.get_subcommand(command)->help(app.get_name());
}

void print_as(const char* key, const std::string& text, bool json) {
  if (json) return print_json({{key, text}});
  std::cout << text;
}

}  // namespace

void add_help(CLI::App& app, CommandLine& command_line) {
  struct Options {
    std::string command;
    bool man = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command = add_command(app, command_line, "help", "the list of commands, or the options of one");
  command.add_option("command", options->command, "the command (default: all, with a line on each)");
  command.add_flag("--man", options->man, "the manual page, for man: quench help --man | man -l -");
  command.callback([&app, &command_line, options] {
    command_line.action = [&app, &command_line, options] {
      const bool json = command_line.common.json;
      if (options->man)
        print_as("man", man_page(facts_of(app), commands_of(app)), json);
      else
        print_as("help", help_of(app, options->command), json);
    };
  });
}

void add_completion(CLI::App& app, CommandLine& command_line) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = add_command(app, command_line, "completion",
                                  "a script that lets a shell complete commands, options and names: source <(quench "
                                  "completion bash)");
  command.add_option("shell", *shell, "bash or zsh")->required();
  command.callback([&app, &command_line, shell] {
    command_line.action = [&app, &command_line, shell] {
      if (*shell != "bash" && *shell != "zsh") fail_unknown_name("shell", *shell, {"bash", "zsh"});
      const auto script = *shell == "bash" ? bash_completion : zsh_completion;
      print_as("script", script(facts_of(app), commands_of(app)), command_line.common.json);
    };
  });
}

}  // namespace quench
