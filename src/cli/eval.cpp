// quench eval: accuracy of a model on a data set, with its interval; and against an earlier run.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/engine_option.h"
#include "cli/load_model.h"
#include "core/atomic_file.h"
#include "core/counted.h"
#include "core/progress.h"
#include "data/doubts.h"
#include "data/item_noun.h"
#include "quench/error.h"
#include "quench/evaluate.h"
#include "quench/paired_test.h"
#include "quench/predictions_file.h"
#include "quench/quantized_model.h"
#include "report/eval_text.h"

namespace quench {
namespace {

bool has_quantizers(const Graph& graph) { return !quantizers_of(graph).empty(); }

struct Arguments {
  std::string model, data, predictions, against, engine, device = "cpu";
  std::int64_t limit = 0;
  bool plain = false;
  ImportOptions import;
  EvalOptions eval;
};

std::string speed_text(const EvalResult& result, const std::string& item) {
  return concat("time   ", decimals(result.seconds, 2), " s, ",
                decimals(static_cast<double>(result.images) / result.seconds, 1), " ", item, "s/s (",
                decimals(static_cast<double>(result.images) / result.model_seconds, 1), " in the model alone), batch ",
                result.batch, "\n");
}

void print_result(const EvalResult& result, const std::string& item) {
  if (result.task == Task::kNone) {
    std::cout << counted(result.images, item) << " without labels\n" << speed_text(result, item);
  } else if (result.task == Task::kNextToken) {
    std::cout << "perplexity  " << decimals(result.perplexity(), 4) << "  (" << result.tokens << " tokens of "
              << result.texts << " texts)\n"
              << "time        " << decimals(result.seconds, 2) << " s\n";
  } else {
    std::cout << "top-1  " << accuracy_text(result.correct, result.images) << "\n"
              << "top-5  " << accuracy_text(result.correct5, result.images) << "\n"
              << speed_text(result, item);
  }
  for (const std::string& message : result.skipped) std::cout << "skipped  " << message << "\n";
}

void check_options(const Arguments& options) {
  check_device(options.device);
  if (!options.predictions.empty()) check_writable(options.predictions);
  QUENCH_CHECK(options.eval.workers >= 0, "the number of workers must be 0 or more, not ", options.eval.workers);
}

// Data without labels needs another run to compare with: that of the float network inside a quantized model, or an
// earlier one. Or the predictions are kept for later.
void check_task(const Arguments& options, const Graph& graph, Task task) {
  QUENCH_CHECK(task != Task::kNextToken || (options.predictions.empty() && options.against.empty()),
               "--predictions and --against are for data with one label per item, not for texts");
  const bool compared = has_quantizers(graph) || !options.against.empty() || !options.predictions.empty();
  QUENCH_CHECK(task != Task::kNone || compared,
               "the data has no labels, and the model is not quantized: there is nothing to score against "
               "(--predictions saves its output, --against compares with an earlier run)");
}

EvalResult evaluate_graph(const Arguments& options, const Graph& graph, const Dataset& data, const Processes& processes,
                          const CommonOptions& common) {
  EvalOptions eval = options.eval;
  eval.processes = &processes;
  eval.optimize = !options.plain;
  eval.device = options.device;
  const std::string unit = item_noun(data) + "s";
  Progress progress(std::cerr, progress_style(common.silent()), "evaluating", unit);
  eval.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
  return evaluate(graph, data, eval);
}

void eval(Arguments options, const CommandLine& command_line) {
  const CommonOptions& common = command_line.common;
  const Processes processes(command_line.place);  // first of all: an error of one stops the others
  options.device = device_for(options.device, command_line.place);
  check_options(options);
  const Graph graph = load_model(options.model, options.import);
  // One that was never calibrated would pass for quantized.
  if (holds_plan(graph) && !quantizers_of(graph).empty()) verify(quantized_model_of(graph), ModelStage::kCalibrated);
  const std::unique_ptr<Dataset> data = open_data(options.data, options.limit, graph);
  check_task(options, graph, data->task());
  if (processes.is_first())
    for (const std::string& doubt : doubts_about_classes(*data, graph)) std::cerr << "WARNING: " << doubt << "\n";
  std::vector<Prediction> earlier;
  if (!options.against.empty()) earlier = read_predictions(options.against);
  const EvalResult result = evaluate_graph(options, graph_for(options.engine, graph), *data, processes, common);
  std::optional<PairedTest> agreement;
  if (data->task() == Task::kNone && has_quantizers(graph) && options.engine != "float")
    agreement = compare_predictions(
        result.predictions, evaluate_graph(options, without_quantizers(graph), *data, processes, common).predictions);
  if (!processes.is_first()) return;
  if (!options.predictions.empty()) write_predictions(options.predictions, result.predictions);
  PairedTest test;
  if (!options.against.empty()) test = compare_predictions(result.predictions, earlier);
  if (common.json) {
    Json object = json_of(result);
    if (!options.engine.empty()) object["engine"] = options.engine;
    if (agreement) object["agreement"] = agreement_json(*agreement);
    if (!options.against.empty()) {
      object["against"] = Json::object({{"file", options.against}});
      object["against"].update(json_of(test));
    }
    print_json(object);
    return;
  }
  print_result(result, item_noun(*data));
  if (agreement) std::cout << agreement_text(*agreement) << "\n";
  if (!options.against.empty()) std::cout << "against " << options.against << ": " << paired_text(test) << "\n";
}

}  // namespace

void add_eval(CLI::App& app, CommandLine& command_line) {
  auto options = std::make_shared<Arguments>();
  CLI::App& command = add_command(app, command_line, "eval", "accuracy of a model on a data set");
  command.alias("test");  // mmrazor's
  command.add_option("model", options->model, "the model file (.onnx, .pt2, .pt)")->required();
  command
      .add_option("--data", options->data,
                  "the data set: KIND:PATH?option=value&..., such as \"cifar10:test_batch.bin?norm=imagenet\" "
                  "(docs/data.md; 'quench list data')")
      ->required()
      ->type_name("SPEC");
  command.add_option("--batch", options->eval.batch, "items at a time (default: 32, or what the model fixes)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--limit", options->limit, "only the first N items")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command.add_option("--workers", options->eval.workers, "decoding threads (default: 1; 0: decode in the main thread)")
      ->type_name("N")
      ->check(CLI::Range(0, 256));
  command.add_flag("--skip-broken", options->eval.skip_broken, "report broken items and skip them");
  add_engine_option(command, options->engine);
  command.add_option("--predictions", options->predictions, "write the result for each image (docs/formats.md)")
      ->type_name("FILE");
  command.add_option("--against", options->against, "a predictions file of an earlier run, for a paired test")
      ->type_name("FILE");
  command.add_flag("--no-optimize", options->plain, "run the graph as is, in the executor");
  add_input_shape_option(command, options->import);
  add_device_option(command, options->device);
  command.callback([&command_line, options] {
    command_line.together = true;
    command_line.action = [&command_line, options] { eval(*options, command_line); };
  });
}

}  // namespace quench
