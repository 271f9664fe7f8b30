// quench info: versions, threads, engines, instruction sets, CUDA.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "cli/command.h"
#include "core/joined.h"
#include "report/machine.h"

namespace quench {
namespace {

std::string list_or_none(const std::vector<std::string>& items) { return items.empty() ? "none" : joined(items, " "); }

// What libgomp was told about waiting at barriers (cli/yielding_threads.cpp).
std::string waiting() {
  std::string text;
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
    if (const char* value = std::getenv(name)) text += std::string(text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

Json json_of(const Machine& machine, const std::string& cpu_note) {
  return {{"version", machine.version},
          {"libtorch", machine.libtorch_version},
          {"compiler", machine.compiler},
          {"threads", machine.threads},
          {"waiting", waiting()},
          {"engines", machine.engines},
          {"instruction_sets", machine.instruction_sets},
          {"libtorch_capability", machine.libtorch_capability},
          {"cuda_built", machine.cuda_built},
          {"cuda_devices", machine.cuda_devices},
          {"amx_hidden", !cpu_note.empty()},
          {"cpu_note", cpu_note}};
}

void print_table(const Machine& machine, const std::string& cpu_note) {
  const auto row = [](const std::string& key, const std::string& value) {
    std::cout << key << std::string(20 - key.size(), ' ') << value << "\n";
  };
  row("quench", machine.version);
  row("LibTorch", machine.libtorch_version);
  row("compiler", machine.compiler);
  row("threads", std::to_string(machine.threads));
  row("threads wait by", waiting().empty() ? "libgomp's own rule" : waiting());
  row("engines", list_or_none(machine.engines));
  row("instruction sets", list_or_none(machine.instruction_sets));
  row("LibTorch kernels", machine.libtorch_capability);
  row("CUDA", machine.cuda_built ? list_or_none(machine.cuda_devices) : "not built in");
  row("processor", cpu_note.empty() ? "does what it advertises" : cpu_note);
}

}  // namespace

void add_info(CLI::App& app, CommandLine& command_line) {
  CLI::App& command =
      add_command(app, command_line, "info", "versions, threads, engines, instruction sets and CUDA of this machine");
  command.callback([&command_line] {
    command_line.action = [&command_line] {
      const Machine machine = describe_machine();
      if (command_line.common.json)
        print_json(json_of(machine, command_line.cpu_note));
      else
        print_table(machine, command_line.cpu_note);
    };
  });
}

}  // namespace quench
