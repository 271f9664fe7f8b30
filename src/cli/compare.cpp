// quench compare: two models on the same data, tensor by tensor; the second may be a deployed file in a runtime.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "core/exit_code.h"
#include "core/progress.h"
#include "quench/compare_models.h"
#include "quench/error.h"
#include "quench/verify.h"
#include "report/compare_text.h"

namespace quench {
namespace {

struct Arguments {
  std::string a, b, data;
  std::int64_t limit = 0;
  std::optional<double> bound;
  CompareOptions compare;
  std::string runtime, runner;  // of B; "": it is run here
};

ModelComparison compared(const Arguments& arguments, const Graph& a, const Dataset& data,
                         const CompareOptions& options) {
  if (arguments.runtime.empty() && arguments.runner.empty())
    return compare_models(a, load_model(arguments.b), data, options);
  VerifyOptions runtime;
  if (!arguments.runtime.empty()) runtime.runtime = arguments.runtime;
  runtime.runner = arguments.runner;
  return compare_with_runtime(a, deployed_files(arguments.b, runtime.runtime).at(0), data, runtime, options);
}

int compare(const Arguments& arguments, const CommonOptions& common) {
  const Graph a = load_model(arguments.a);
  const std::unique_ptr<Dataset> data = open_data(arguments.data, arguments.limit, a);
  CompareOptions options = arguments.compare;
  Progress progress(std::cerr, progress_style(common.silent()), "comparing", "items");
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
  const ModelComparison found =
      with_context([&] { return concat("while comparing ", arguments.a, " with ", arguments.b); },
                   [&] { return compared(arguments, a, *data, options); });
  if (common.json)
    print_json(json_of(found, arguments.bound));
  else
    std::cout << compare_text(found, arguments.bound);
  return arguments.bound && found.largest() > *arguments.bound ? kCheckFailed : kDone;
}

}  // namespace

void add_compare(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command =
      add_command(app, command_line, "compare", "differences between two models, tensor by tensor, on the same data");
  command.add_option("a", arguments->a, "a model file: float, quantized or converted")->required();
  command
      .add_option("b", arguments->b,
                  "another form of the same network; with --runtime a deployed file (N_qdq.onnx), or its folder")
      ->required();
  command.add_option("--data", arguments->data, "the data set (docs/data.md)")->required()->type_name("SPEC");
  command.add_option("--limit", arguments->limit, "only the first N items")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command
      .add_option("--batch", arguments->compare.batch,
                  "items at a time (default: 8, with a runtime 32, or the model's fixed batch)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--bound", arguments->bound, "the largest difference allowed, in steps; beyond it: exit code 3")
      ->type_name("STEPS")
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--runtime", arguments->runtime, "run B in this runtime ('quench list runtimes')")
      ->type_name("NAME");
  command.add_option("--runner", arguments->runner, "run B by this command (docs/runners.md)")->type_name("CMD");
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] {
      command_line.exit_code = compare(*arguments, command_line.common);
    };
  });
}

}  // namespace quench
