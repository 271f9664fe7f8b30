// quench verify: a deployed file in the real runtime, beside its simulation.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "core/exit_code.h"
#include "core/progress.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/verify.h"
#include "report/verify_text.h"

namespace quench {
namespace {

struct Arguments {
  std::string model, data;
  std::int64_t limit = 0;
  VerifyOptions options;
};

VerifyResult verified(Arguments& arguments, const CommonOptions& common) {
  QUENCH_CHECK(arguments.options.layers || (!arguments.options.bound && arguments.options.rule.empty()),
               "--bound and --rule are of the codes of layers: give --layers with them");
  const std::string file = deployed_file(arguments.model);
  const std::unique_ptr<Dataset> data = open_data(arguments.data, arguments.limit, import_model(file));
  Progress progress(std::cerr, progress_style(common.silent()), "verifying", "items");
  arguments.options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
  return verify(file, *data, arguments.options);
}

void verify_model(Arguments& arguments, CommandLine& command_line) {
  const VerifyResult result = verified(arguments, command_line.common);
  if (command_line.common.json)
    print_json(json_of(result));
  else
    std::cout << verify_text(result);
  if (!result.passed()) command_line.exit_code = kCheckFailed;
}

void add_bounds(CLI::App& command, VerifyOptions& options) {
  command
      .add_option("--bound", options.bound,
                  "the share of codes that may differ locally, each by one (default: the runtime's); with --layers")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--output-bound", options.output_bound,
                  "how far the outputs may be off on average, in steps of their codes (default: 4)")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--rule", options.rule,
                  "how the runtime requantizes: mlas, mlas_plain, tflite, half_up, away, affine or float (default: the "
                  "runtime's)")
      ->type_name("NAME");
}

void add_running(CLI::App& command, VerifyOptions& options) {
  command.add_option("--runtime", options.runtime, "'quench list runtimes' (default: onnxruntime)")->type_name("NAME");
  command
      .add_option("--runner", options.runner,
                  "a command in the place of the runtime's script: CMD MODEL INPUTS.npz OUTPUTS.npz (docs/runners.md)")
      ->type_name("CMD");
  command.add_option("--timeout", options.timeout, "seconds that one call of the runner may take (default: 600)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
}

}  // namespace

void add_verify(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command = add_command(app, command_line, "verify",
                                  "run a deployed file in the real runtime, beside its simulation; exit code 3 when "
                                  "they differ by more than the bound");
  command.add_option("model", arguments->model, "the deployed model (N_qdq.onnx), or the folder that it is in")
      ->required();
  command.add_option("--data", arguments->data, "the data set (docs/data.md)")->required()->type_name("SPEC");
  command.add_flag("--layers", arguments->options.layers,
                   "also the codes of every quantized tensor, layer by layer and end to end");
  command.add_option("--limit", arguments->limit, "only the first N items")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command.add_option("--batch", arguments->options.batch, "items a call of the runner (default: some 64 MB)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  add_running(command, arguments->options);
  add_bounds(command, arguments->options);
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] { verify_model(*arguments, command_line); };
  });
}

}  // namespace quench
