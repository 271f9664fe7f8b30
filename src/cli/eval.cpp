// quench eval: accuracy of a model on a data set, or other metrics, with intervals; and against an earlier run or
// another model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/engine_option.h"
#include "cli/load_model.h"
#include "core/atomic_file.h"
#include "core/counted.h"
#include "core/joined.h"
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
  std::string model, data, predictions, against, reference, engine, device = "cpu";
  std::int64_t limit = 0;
  bool plain = false;
  ImportOptions import;
  EvalOptions eval;
};

std::string speed_text(const EvalResult& result, const std::string& item) {
  const auto items = static_cast<double>(result.items);
  return concat("time   ", decimals(result.seconds, 2), " s, ", decimals(items / result.seconds, 1), " ", item, "s/s (",
                decimals(items / result.model_seconds, 1), " in the model alone), batch ", result.batch, "\n");
}

void print_chosen(const EvalResult& result, const std::string& item) {
  std::size_t widest = 0;
  for (const MetricResult& metric : result.metrics) widest = std::max(widest, metric.name.size());
  for (const MetricResult& metric : result.metrics) {
    std::cout << metric.name << std::string(widest - metric.name.size() + 2, ' ') << metric_text(metric) << "\n";
    for (const auto& [name, value] : metric.details)
      std::cout << "  " << name << "  " << value_text(value, metric.unit) << "\n";
  }
  std::cout << speed_text(result, item);
}

void print_result(const EvalResult& result, const std::string& item) {
  if (result.chosen) {
    print_chosen(result, item);
  } else if (result.task == Task::kNone) {
    std::cout << counted(result.items, item) << " without labels\n" << speed_text(result, item);
  } else if (result.task == Task::kNextToken) {
    std::cout << "perplexity  " << decimals(result.perplexity(), 4) << "  (" << result.tokens() << " tokens of "
              << result.items << " texts)\n"
              << "time        " << decimals(result.seconds, 2) << " s\n";
  } else {
    std::cout << "top-1  " << metric_text(result.metric("top1")) << "\n"
              << "top-5  " << metric_text(result.metric("top5")) << "\n"
              << speed_text(result, item);
  }
  for (const std::string& message : result.skipped) std::cout << "skipped  " << message << "\n";
}

void check_options(const Arguments& options) {
  check_device(options.device);
  for (const std::string& metric : options.eval.metrics) parse_metric(metric);
  if (!options.predictions.empty()) check_writable(options.predictions);
  QUENCH_CHECK(options.eval.workers >= 0, "the number of workers must be 0 or more, not ", options.eval.workers);
}

// Data without labels needs another run to compare with: that of the float network inside a quantized model, or an
// earlier one. Or the predictions are kept for later.
void check_task(const Arguments& options, const Graph& graph, const Dataset& data) {
  const bool compared = has_quantizers(graph) || !options.against.empty() || !options.predictions.empty();
  const bool scored = data.task() != Task::kNone || !options.eval.metrics.empty() || !data.target_kind().empty();
  QUENCH_CHECK(
      scored || compared || !is_converted(graph),
      "the data has no labels, and the model is converted: the float network that it could be compared with is "
      "not in it (--against MODEL compares with the calibrated or the float model, --predictions saves its "
      "output)");
  QUENCH_CHECK(scored || compared,
               "the data has no labels, and the model is not quantized: there is nothing to score against "
               "(--predictions saves its output, --against compares with an earlier run)");
}

// A model, and what it is measured against.
class Evaluation {
 public:
  Evaluation(const Arguments& options, const Processes& processes, const CommonOptions& common)
      : options_(options), processes_(processes), common_(common), graph_(load(options.model)) {
    if (!options.reference.empty())
      reference_ = load(options.reference);
    else if (has_quantizers(graph_))
      reference_ = without_quantizers(graph_);
    data_ = open_data(options.data, options.limit, graph_);
    check_task(options, graph_, *data_);
    EvalOptions eval = options.eval;
    eval.reference = reference_ ? &*reference_ : nullptr;
    check_evaluates(graph_, *data_, eval);
    if (!processes.is_first()) return;
    for (const std::vector<std::string>& doubts :
         {doubts_about_weights(options.model), doubts_about_size(parse_spec(options.data), graph_),
          doubts_about_classes(*data_, graph_)})
      for (const std::string& doubt : doubts) std::cerr << "WARNING: " << doubt << "\n";
  }

  std::string item() const { return item_noun(*data_); }
  EvalResult run() const { return run(graph_for(options_.engine, graph_)); }
  EvalResult run(const Graph& graph) const {
    EvalOptions eval = options_.eval;
    eval.processes = &processes_;
    eval.optimize = !options_.plain;
    eval.device = options_.device;
    eval.reference = reference_ ? &*reference_ : nullptr;
    Progress progress(std::cerr, progress_style(common_.silent()), "evaluating", item() + "s");
    eval.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
    return evaluate(graph, *data_, eval);
  }

  // How often the class of the float network is predicted, where there are no labels.
  std::optional<PairedTest> agreement(const EvalResult& result) const {
    if (result.chosen || result.task != Task::kNone || !reference_ || options_.engine == "float") return std::nullopt;
    return compare_predictions(result.predictions, run(*reference_).predictions);
  }

  Graph load(const std::string& path) const {
    Graph graph = load_model(path, options_.import);
    // One that was never calibrated would pass for quantized.
    if (holds_plan(graph) && !quantizers_of(graph).empty()) verify(quantized_model_of(graph), ModelStage::kCalibrated);
    return graph;
  }

 private:
  const Arguments& options_;
  const Processes& processes_;
  const CommonOptions& common_;
  Graph graph_;
  std::optional<Graph> reference_;
  std::unique_ptr<Dataset> data_;
};

// What --against names: results of an earlier run, or another model, which is then evaluated in the same way.
class Other {
 public:
  explicit Other(const std::string& path) : path_(path) {
    if (path.empty()) return;
    is_file_ = is_predictions_file(path);
    if (is_file_) result_ = read_predictions(path);
  }
  void evaluate(const Evaluation& evaluation) {
    if (!path_.empty() && !is_file_) result_ = evaluation.run(evaluation.load(path_));
  }
  // By each metric that both have, and class by class where no metrics were asked for.
  void compare(const EvalResult& result, int resamples) {
    if (path_.empty()) return;
    if (!result.chosen && !result.predictions.empty() && !result_.predictions.empty())
      test_ = compare_predictions(result.predictions, result_.predictions);
    for (const MetricResult& metric : result.metrics)
      if (has_metric(result_, metric.name))
        differences_.emplace_back(metric, compare_results(result, result_, metric.name, resamples));
      else
        only_this_.push_back(metric.name);
    for (const MetricResult& metric : result_.metrics)
      if (!has_metric(result, metric.name)) only_that_.push_back(metric.name);
    QUENCH_CHECK(test_ || !differences_.empty(), "there is nothing to compare: this run has ",
                 metrics_or_predictions(only_this_), ", '", path_, "' has ", metrics_or_predictions(only_that_));
  }
  std::string text() const {
    if (path_.empty()) return "";
    std::string text = concat("against ", path_, test_ ? ": " + paired_text(*test_) : "", "\n");
    for (const auto& [metric, difference] : differences_)
      text += concat("  ", metric.name, "  ", difference_text(difference, metric.unit), "\n");
    if (!only_this_.empty()) text += concat("  not compared: ", path_, " lacks ", joined(only_this_), "\n");
    if (!only_that_.empty()) text += concat("  not compared: this run lacks ", joined(only_that_), "\n");
    return text;
  }
  void add_to(Json& object) const {
    if (path_.empty()) return;
    Json against = {{"file", path_}};
    if (test_) against.update(json_of(*test_));
    for (const auto& [metric, difference] : differences_) {
      Json one = {{"name", metric.name}};
      one.update(json_of(difference));
      against["metrics"].push_back(std::move(one));
    }
    if (!only_this_.empty()) against["only_this"] = only_this_;
    if (!only_that_.empty()) against["only_that"] = only_that_;
    object["against"] = std::move(against);
  }

 private:
  static bool has_metric(const EvalResult& result, const std::string& name) {
    return std::any_of(result.metrics.begin(), result.metrics.end(),
                       [&](const MetricResult& metric) { return metric.name == name; });
  }
  static std::string metrics_or_predictions(const std::vector<std::string>& metrics) {
    return metrics.empty() ? "predictions alone" : joined(metrics);
  }

  std::string path_;
  bool is_file_ = false;  // else a model
  EvalResult result_;
  std::optional<PairedTest> test_;
  std::vector<std::pair<MetricResult, PairedDifference>> differences_;
  std::vector<std::string> only_this_, only_that_;  // metrics that one of the two has
};

void eval(Arguments options, const CommandLine& command_line) {
  const CommonOptions& common = command_line.common;
  const Processes processes(command_line.place,
                            process_options(command_line.place));  // first: an error of one stops the others
  options.device = device_for(options.device, command_line.place);
  check_options(options);
  const Evaluation evaluation(options, processes, common);
  Other other(options.against);
  const EvalResult result = evaluation.run();
  const std::optional<PairedTest> agreement = evaluation.agreement(result);
  other.evaluate(evaluation);
  if (!processes.is_first()) return;
  if (!options.predictions.empty()) write_predictions(options.predictions, result);
  other.compare(result, options.eval.resamples > 0 ? options.eval.resamples : kResamples);
  if (common.json) {
    Json object = json_of(result);
    if (!options.engine.empty()) object["engine"] = options.engine;
    if (agreement) object["agreement"] = agreement_json(*agreement);
    other.add_to(object);
    print_json(object);
    return;
  }
  print_result(result, evaluation.item());
  if (agreement) std::cout << agreement_text(*agreement) << "\n";
  std::cout << other.text();
}

}  // namespace

void add_eval(CLI::App& app, CommandLine& command_line) {
  auto options = std::make_shared<Arguments>();
  CLI::App& command = add_command(app, command_line, "eval", "accuracy of a model on a data set, or other metrics");
  command.alias("test");  // mmrazor's
  command.add_option("model", options->model, "the model file (.onnx, .pt2, .pt)")->required();
  command
      .add_option("--data", options->data,
                  "the data set: KIND:PATH?option=value&..., such as \"cifar10:test_batch.bin?norm=imagenet\" "
                  "(docs/data.md; 'quench list data')")
      ->required()
      ->type_name("SPEC");
  command.add_option("--batch", options->eval.batch, "items at a time (default: 32, or the model's fixed batch)")
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
  command.add_option("--predictions", options->predictions, "write the result for each item (docs/formats.md)")
      ->type_name("FILE");
  command
      .add_option("--against", options->against,
                  "such a file of an earlier run, or another model: compared item by item")
      ->type_name("FILE");
  add_metric_option(command, options->eval.metrics,
                    "what is measured (default: top1 and top5, or perplexity of texts)");
  command
      .add_option("--reference", options->reference,
                  "the float model that metrics such as agreement compare with (default: the one inside MODEL)")
      ->type_name("MODEL");
  command
      .add_option("--resamples", options->eval.resamples, "draws for the intervals of metrics (default: 1000; 0: none)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20));
  command.add_flag("--no-optimize", options->plain, "run the graph as is, in the executor");
  add_input_shape_option(command, options->import);
  add_device_option(command, options->device);
  command.callback([&command_line, options] {
    command_line.together = true;
    command_line.action = [&command_line, options] { eval(*options, command_line); };
  });
}

}  // namespace quench
