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

void print_help(const CLI::App& app, const std::string& command) {
  // Not app.help(): that is the help of the command that was called, which is this one.
  if (command.empty()) {
    std::cout << app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
    return;
  }
  check_command_name(app, {command});
  std::cout << app.get_subcommand(command)->help(app.get_name());
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
    command_line.action = [&app, options] {
      if (options->man)
        std::cout << man_page(facts_of(app), commands_of(app));
      else
        print_help(app, options->command);
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
    command_line.action = [&app, shell] {
      if (*shell != "bash" && *shell != "zsh") fail_unknown_name("shell", *shell, {"bash", "zsh"});
      const auto script = *shell == "bash" ? bash_completion : zsh_completion;
      std::cout << script(facts_of(app), commands_of(app));
    };
  });
}

}  // namespace quench
