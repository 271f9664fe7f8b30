// The program `quench`. Exit codes: 0 done, 1 an error the user can fix, 2 our bug, 3 a check failed, 130 interrupted.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/colors.h"
#include "cli/command.h"
#include "cli/flag_names.h"
#include "cli/usage.h"
#include "core/exit_code.h"
#include "core/interrupt.h"
#include "distributed/signs_of_life.h"
#include "quench/error.h"
#include "quench/plugin.h"
#include "quench/process.h"

namespace quench {
namespace {

int report(const std::exception& caught, bool json, const ProcessPlace& place) {
  const Error error = last_words(caught);
  const std::string who = place.is_first() ? "" : concat(" (", name_of_process(place.rank, place.size), ")");
  std::cerr << "quench: error" << who << ": " << in_flags(error.what()) << std::endl;
  if (json && place.is_first()) print_json({{"error", error.message()}, {"context", error.context()}});
  return noted_interrupt() != 0 ? 128 + noted_interrupt() : exit_code_of(caught);
}

void add_commands(CLI::App& app, CommandLine& command_line) {
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("-V,--version", "quench " QUENCH_VERSION, "print the version");
  add_common_options(app, command_line.common);
  add_info(app, command_line);
  add_list(app, command_line);
  add_inspect(app, command_line);
  add_run(app, command_line);
  add_eval(app, command_line);
  add_plan(app, command_line);
  add_quantize(app, command_line);
  add_train(app, command_line);
  add_profile(app, command_line);
  add_convert(app, command_line);
  add_deploy(app, command_line);
  add_compare(app, command_line);
  add_bench(app, command_line);
  add_verify(app, command_line);
  add_report(app, command_line);
  add_help(app, command_line);
  add_completion(app, command_line);
  // Last: a command would take it over.
  app.footer("'quench help COMMAND' says more. Start with 'quench inspect model.onnx'.");
}

// Also where the options could not all be read: what comes before one that cannot may not have been taken yet.
bool wants_json(const CommonOptions& common, const std::vector<std::string>& arguments) {
  return common.json || std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
}

// True when there is something to do; false after help or version.
bool parse(CLI::App& app, int argc, char** argv, const CommonOptions& common) {
  try {
    check_command_name(app, {argv + 1, argv + argc});
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForVersion& wish) {
    if (wants_json(common, {argv + 1, argv + argc}))
      print_json({{"version", QUENCH_VERSION}});
    else
      app.exit(wish);
    return false;
  } catch (const CLI::Success& wish) {
    app.exit(wish);  // prints the help that was asked for
    return false;
  } catch (const CLI::ExtrasError&) {
    const CLI::App& command = app.remaining().empty() ? called_command(app) : app;
    throw Error(explain_extra_arguments(command)).add_context(help_hint(command));
  } catch (const CLI::RequiredError& error) {
    if (app.get_subcommands().empty()) throw Error(explain_missing_command(app)).add_context(help_hint(app));
    throw Error(error.what()).add_context(help_hint(called_command(app)));
  } catch (const CLI::ConversionError& error) {
    throw Error(explain_conversion(called_command(app), error.what())).add_context(help_hint(called_command(app)));
  } catch (const CLI::ParseError& error) {
    throw Error(error.what()).add_context(help_hint(called_command(app)));
  }
}

// False if this is one of several processes and the first one does all of it.
bool takes_part(CommandLine& command_line) {
  if (command_line.together) {
    command_line.place = place_of_process();
    if (!command_line.place.is_first()) command_line.common.quiet = true;
    return true;
  }
  try {
    return place_of_process().is_first();
  } catch (const Error&) {
    return true;  // what the command does not need cannot be in its way
  }
}

int run_program(int argc, char** argv) {
  CommandLine command_line;
  command_line.cpu_note = avoid_cpu_quirks();
  keep_large_blocks();
  end_cleanly_on_interrupt();
  const ColoredStream out(std::cout, STDOUT_FILENO, command_line.common);
  const ColoredStream err(std::cerr, STDERR_FILENO, command_line.common);
  CLI::App app("quench: inspect, run, evaluate, quantize, train, convert, deploy and verify neural networks", "quench");
  add_commands(app, command_line);
  try {
    if (parse(app, argc, argv, command_line.common) && takes_part(command_line)) {
      set_threads(command_line.common.threads);
      for (const std::string& plugin : command_line.common.plugins) load_plugin(plugin);
      command_line.action();
    }
    std::cout.flush();
    QUENCH_CHECK(std::cout, "cannot write to the standard output");
    return command_line.exit_code;
  } catch (const std::exception& error) {
    return report(error, wants_json(command_line.common, {argv + 1, argv + argc}), command_line.place);
  }
}

}  // namespace
}  // namespace quench

int main(int argc, char** argv) {
  try {
    return quench::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "quench: internal error: " << error.what() << std::endl;
  } catch (...) {
    std::cerr << "quench: internal error of unknown kind" << std::endl;
  }
  return quench::kOurs;
}
