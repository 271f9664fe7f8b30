// quench train: quantization-aware training. All that `quench quantize` does, with training between calibration and
// measuring.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/quantize_job.h"

namespace quench {

void add_train(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App& command = add_command(app, command_line, "train",
                                  "train a model with its quantizers: plan, calibrate, train, write, report");
  command.alias("qat");  // mmrazor's
  add_quantize_options(command, *arguments);
  add_training_options(command, *arguments);
  command.callback([&command_line, arguments] {
    command_line.together = true;
    command_line.action = [&command_line, arguments] { run_quantizing(*arguments, command_line); };
  });
}

}  // namespace quench
