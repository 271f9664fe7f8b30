#include "cli/command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>

#include "cli/flag_names.h"
#include "distributed/signs_of_life.h"
#include "quench/error.h"
#include "report/machine.h"

namespace quench {

void add_common_options(CLI::App& app, CommonOptions& common) {
  app.add_flag("--json", common.json, "print one JSON object on stdout, and nothing else");
  app.add_flag("--quiet", common.quiet, "no progress on stderr");
  app.add_option("--threads", common.threads, "threads of one operator (default: LibTorch's choice)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  // A function: the option is on the program and on the command, and what one was given must not replace the other's.
  app.add_option_function<std::vector<std::string>>(
         "--plugin",
         [&common](const std::vector<std::string>& files) {
           common.plugins.insert(common.plugins.end(), files.begin(), files.end());
         },
         "a shared library that adds observers, platforms, exporters ... (docs/adding.md); repeatable")
      ->type_name("FILE.so")
      ->allow_extra_args(false);
  app.add_option("--color", common.color, "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

CLI::App& add_command(CLI::App& app, CommandLine& command_line, const std::string& name, const std::string& summary) {
  CLI::App& command = *app.add_subcommand(name, summary)->group("Commands");
  add_common_options(command, command_line.common);
  return command;
}

std::string is_count(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const bool whole = error == std::errc() && stopped == end;
  return whole ? "" : concat("'", text, "' is not a whole number from 0 to ", UINT64_MAX);
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "cpu, cuda or cuda:N (default: cpu)")->type_name("NAME");
}

void check_device(const std::string& device) {
  if (device == "cpu") return;
  const bool is_cuda = device == "cuda" || device.rfind("cuda:", 0) == 0;
  QUENCH_CHECK(is_cuda, "unknown device '", device, "'; known: cpu, cuda, cuda:N");
  const Machine machine = describe_machine();
  QUENCH_CHECK(machine.cuda_built, "device '", device, "' cannot be used: this quench was built without CUDA");
  QUENCH_CHECK(!machine.cuda_devices.empty(), "device '", device, "' cannot be used: no CUDA device was found");
}

std::string device_for(const std::string& device, const ProcessPlace& place) {
  if (device != "cuda" || place.size == 1) return device;
  const auto devices = static_cast<int>(describe_machine().cuda_devices.size());
  return concat("cuda:", devices > 0 ? place.local_rank % devices : place.local_rank);
}

ProcessOptions process_options(const ProcessPlace& place) {
  ProcessOptions options;
  options.waiting = [who = name_of_process(place.rank, place.size)](const std::string& message) {
    std::cerr << concat("quench (", who, "): ", message, "\n") << std::flush;
  };
  return options;
}

void add_metric_option(CLI::App& command, std::vector<std::string>& metrics, const std::string& what) {
  command
      .add_option("--metric", metrics,
                  what + ", such as top5 or mse:output=logits (docs/metrics.md; 'quench list metrics'); repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_dim_option(CLI::App& command, std::map<std::string, std::int64_t>& dims) {
  command
      .add_option_function<std::vector<std::string>>(
          "--dim",
          [&dims](const std::vector<std::string>& given) {
            for (const std::string& text : given) {
              const std::size_t equals = text.rfind('=');
              std::int64_t number = 0;
              if (equals == std::string::npos || equals == 0 ||
                  !CLI::detail::lexical_cast(text.substr(equals + 1), number) || number < 0)
                throw CLI::ValidationError("--dim", "'" + text + "' is not NAME=NUMBER, such as N=4");
              dims[text.substr(0, equals)] = number;
            }
          },
          "the size of a symbolic dimension, such as N=4 (default: 1, or the smallest that fits); repeatable")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
}

std::size_t output_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void print_json(const Json& object) {
  std::cout << in_flags(object.dump(2, ' ', false, Json::error_handler_t::replace)) << std::endl;
}

}  // namespace quench
