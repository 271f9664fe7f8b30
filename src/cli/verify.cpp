// quench verify: compares a deployed file in the real runtime with its simulation.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/flag_names.h"
#include "cli/load_model.h"
#include "core/exit_code.h"
#include "core/progress.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/verify.h"
#include "report/kept_results.h"
#include "report/verify_text.h"

namespace quench {
namespace {

struct Arguments {
  std::string model, data;
  std::int64_t limit = 0;
  bool details = false;
  VerifyOptions options;
};

VerifyResult verified(const Arguments& arguments, const std::string& file, const CommonOptions& common) {
  VerifyOptions options = arguments.options;
  const std::unique_ptr<Dataset> data = open_data(arguments.data, arguments.limit, import_model(file));
  Progress progress(std::cerr, progress_style(common.silent()), "verifying", "items");
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
  return verify(file, *data, options);
}

// One object; for several files, their results under `files`.
void print_results(const std::vector<VerifyResult>& results, bool details, bool json) {
  if (!json) {
    for (std::size_t i = 0; i < results.size(); ++i)
      std::cout << (i > 0 ? "\n" : "") << in_flags(verify_text(results[i], details));
    return;
  }
  if (results.size() == 1) return print_json(json_of(results[0]));
  Json files = Json::array();
  bool passed = true;
  for (const VerifyResult& result : results) {
    files.push_back(json_of(result));
    passed = passed && result.passed();
  }
  print_json({{"files", files}, {"passed", passed}});
}

void verify_model(const Arguments& arguments, CommandLine& command_line) {
  const VerifyOptions& options = arguments.options;
  QUENCH_CHECK(options.layers || (!options.bound && options.rule.empty()),
               "--bound and --rule apply to the codes of layers: add --layers");
  std::vector<VerifyResult> results;
  for (const std::string& file : deployed_files(arguments.model, options.runtime)) {
    Arguments one = arguments;
    one.options.layers = options.layers && results.empty();  // the first is Q/DQ: others do not show their codes
    results.push_back(verified(one, file, command_line.common));
    if (!results.back().passed()) command_line.exit_code = kCheckFailed;
  }
  print_results(results, arguments.details, command_line.common.json);
  for (const VerifyResult& result : results) keep_result(result.file, kVerifyFile, json_of(result), {"runtime"});
}

void add_bounds(CLI::App& command, VerifyOptions& options) {
  command
      .add_option("--bound", options.bound,
                  "the share of codes that may differ locally, each by one (default: the runtime's); with --layers")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1.0));
  const auto bound = [&](const char* name, std::optional<double>& value, const char* what) {
    command.add_option(name, value, what)->type_name("X")->check(CLI::NonNegativeNumber);
  };
  bound("--output-bound", options.output_bound,
        "how far a prediction may be off, in steps of the output's codes; top-1 may change within twice that");
  bound("--output-share", options.output_share, "the share of predictions that may be off by more than that");
  bound("--output-largest", options.output_largest, "how far any element of an output may be off, in steps");
  bound("--output-mean", options.output_mean, "how far the outputs may be off on average, in steps");
  bound("--accuracy-bound", options.accuracy_bound, "the share of labelled items that may be lost");
  command
      .add_option("--rule", options.rule,
                  "how the runtime requantizes: mlas, mlas_plain, tflite, half_up, away, affine or float (default: the "
                  "runtime's)")
      ->type_name("NAME");
}

void add_running(CLI::App& command, VerifyOptions& options) {
  command.add_option("--runtime", options.runtime, "'quench list runtimes' (default: onnxruntime)")->type_name("NAME");
  command
      .add_option(
          "--runner", options.runner,
          "a command to use instead of the runtime's script: CMD MODEL INPUTS.npz OUTPUTS.npz (docs/runners.md)")
      ->type_name("CMD");
  command.add_option("--timeout", options.timeout, "seconds that one call of the runner may take (default: 600)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
}

}  // namespace

void add_verify(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command = add_command(app, command_line, "verify",
                                  "compare a deployed file in the real runtime with its simulation; exit code 3 if "
                                  "they differ by more than the bound");
  command.add_option("deployed", arguments->model, "the deployed model (N_qdq.onnx), or the folder it is in")
      ->required();
  command.add_option("--data", arguments->data, "the data set (docs/data.md)")->required()->type_name("SPEC");
  command.add_flag("--layers", arguments->options.layers,
                   "also compare the codes of every quantized tensor, layer by layer and end to end");
  command.add_flag("--details", arguments->details,
                   "every criterion with what was found and its bound (default: only where one fails)");
  command.add_option("--limit", arguments->limit, "only the first N items")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command.add_option("--batch", arguments->options.batch, "items per call of the runner (default: about 64 MB)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--model", arguments->options.model,
                  "the calibrated model the file was made from (default: NAME.quench.onnx beside it or in the folder "
                  "above; none: no comparison with it)")
      ->type_name("FILE");
  add_running(command, arguments->options);
  add_bounds(command, arguments->options);
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] { verify_model(*arguments, command_line); };
  });
}

}  // namespace quench
