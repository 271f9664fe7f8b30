// A sub-command: one file that adds its options to the parser and defines its action. All take --json (one
// object on stdout), --quiet, --threads, --plugin and --color.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quench/distributed.h"
#include "report/json.h"

namespace CLI {
class App;
}

namespace quench {

struct CommonOptions {
  bool json = false;   // one object on stdout, nothing else there
  bool quiet = false;  // no progress
  int threads = 0;     // 0: LibTorch's choice
  std::vector<std::string> plugins;
  std::string color = "auto";  // or always, never
  bool silent() const { return json || quiet; }
};

// Not called Program: the executor has one of that name.
struct CommandLine {
  CommonOptions common;
  std::string cpu_note;          // what avoid_cpu_quirks said
  std::function<void()> action;  // set by the sub-command that was called
  int exit_code = 0;             // exit code after an action that ended without an error
  // Set by a sub-command that several processes can share; of others, only the first one of several does anything.
  bool together = false;
  ProcessPlace place;
};

// Those options: on the program and on each command, so that they may go on either side.
void add_common_options(CLI::App& app, CommonOptions& common);
// Makes the sub-command with the common options on it.
CLI::App& add_command(CLI::App& app, CommandLine& command_line, const std::string& name, const std::string& summary);
// For ->check(): "" for a number that fits into 64 bits without a sign, else what is wrong. CLI11 alone
// takes -1 for the largest of them.
std::string is_count(const std::string& text);
void add_device_option(CLI::App& command, std::string& device);  // --device, checked when the command runs
void check_device(const std::string& device);
std::string device_for(const std::string& device,
                       const ProcessPlace& place);          // of several processes each takes its own
ProcessOptions process_options(const ProcessPlace& place);  // says on the standard error for whom this one waits
// --metric NAME:option=value,..., repeatable; an unknown one is refused at once. `what` it is for begins the help.
void add_metric_option(CLI::App& command, std::vector<std::string>& metrics, const std::string& what);
// --dim N=4, repeatable
void add_dim_option(CLI::App& command, std::map<std::string, std::int64_t>& dims);

void print_json(const Json& object);
std::size_t output_columns();  // of the terminal that the standard output is; 0: it is none

// In the order in which a user meets them.
void add_info(CLI::App& app, CommandLine& command_line);
void add_list(CLI::App& app, CommandLine& command_line);
void add_inspect(CLI::App& app, CommandLine& command_line);
void add_run(CLI::App& app, CommandLine& command_line);
void add_eval(CLI::App& app, CommandLine& command_line);
void add_plan(CLI::App& app, CommandLine& command_line);
void add_quantize(CLI::App& app, CommandLine& command_line);
void add_train(CLI::App& app, CommandLine& command_line);
void add_profile(CLI::App& app, CommandLine& command_line);
void add_convert(CLI::App& app, CommandLine& command_line);
void add_deploy(CLI::App& app, CommandLine& command_line);
void add_compare(CLI::App& app, CommandLine& command_line);
void add_bench(CLI::App& app, CommandLine& command_line);
void add_verify(CLI::App& app, CommandLine& command_line);
void add_report(CLI::App& app, CommandLine& command_line);
void add_help(CLI::App& app, CommandLine& command_line);
void add_completion(CLI::App& app, CommandLine& command_line);

}  // namespace quench
