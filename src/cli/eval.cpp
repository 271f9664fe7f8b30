// quench eval: accuracy of a model on a data set, with its interval; and against an earlier run.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "core/atomic_file.h"
#include "core/progress.h"
#include "quench/error.h"
#include "quench/evaluate.h"

namespace quench {
namespace {

struct Options {
  std::string model, data, predictions, against, device = "cpu";
  std::int64_t limit = 0;
  bool plain = false;
  EvalOptions eval;
};

std::string percent(double fraction) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.2f", 100 * fraction);
  return text.data();
}

std::string decimals(double number, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

Json json_of(const PairedTest& test, const std::string& against) {
  return {{"file", against},
          {"images", test.images},
          {"only_this_right", test.only_first},
          {"only_that_right", test.only_second},
          {"prediction_changed", test.changed},
          {"p_value", test.p_value}};
}

Json json_of(const EvalResult& result) {
  if (result.task == Task::kNextToken) {
    return {{"texts", result.texts},
            {"tokens", result.tokens},
            {"perplexity", result.perplexity()},
            {"seconds", result.seconds},
            {"model_seconds", result.model_seconds},
            {"batch", result.batch},
            {"skipped", result.skipped}};
  }
  const Interval interval = wilson_interval(result.correct, result.images);
  return {{"images", result.images},
          {"correct", result.correct},
          {"correct5", result.correct5},
          {"top1", result.top1()},
          {"top5", result.top5()},
          {"top1_low", interval.low},
          {"top1_high", interval.high},
          {"seconds", result.seconds},
          {"model_seconds", result.model_seconds},
          {"images_per_second", static_cast<double>(result.images) / result.seconds},
          {"batch", result.batch},
          {"skipped", result.skipped}};
}

void print_accuracy(const char* name, std::int64_t correct, std::int64_t images) {
  const Interval interval = wilson_interval(correct, images);
  std::cout << name << percent(static_cast<double>(correct) / static_cast<double>(images)) << " %  (" << correct
            << " of " << images << "; 95 % interval " << percent(interval.low) << " to " << percent(interval.high)
            << ")\n";
}

void print_result(const EvalResult& result) {
  if (result.task == Task::kNextToken) {
    std::cout << "perplexity  " << decimals(result.perplexity(), 4) << "  (" << result.tokens << " tokens of "
              << result.texts << " texts)\n"
              << "time        " << decimals(result.seconds, 2) << " s\n";
  } else {
    print_accuracy("top-1  ", result.correct, result.images);
    print_accuracy("top-5  ", result.correct5, result.images);
    std::cout << "time   " << decimals(result.seconds, 2) << " s, "
              << decimals(static_cast<double>(result.images) / result.seconds, 1) << " images/s ("
              << decimals(static_cast<double>(result.images) / result.model_seconds, 1)
              << " in the model alone), batch " << result.batch << "\n";
  }
  for (const std::string& message : result.skipped) std::cout << "skipped  " << message << "\n";
}

void print_paired(const PairedTest& test, const std::string& against) {
  std::cout << "against " << against << ": right in this run alone " << test.only_first << ", in that run alone "
            << test.only_second << ", other class predicted " << test.changed
            << " (McNemar's exact test: p = " << decimals(test.p_value, 4) << ")\n";
}

void check_options(const Options& options) {
  check_device(options.device);
  if (!options.predictions.empty()) check_writable(options.predictions);
  QUENCH_CHECK(options.eval.workers >= 0, "the number of workers must be 0 or more, not ", options.eval.workers);
}

void eval(Options options, const CommonOptions& common) {
  check_options(options);
  Graph graph = load_model(options.model);
  const std::unique_ptr<Dataset> data = open_data(options.data, options.limit, graph);
  const bool classify = data->task() == Task::kClassify;
  QUENCH_CHECK(classify || (options.predictions.empty() && options.against.empty()),
               "--predictions and --against are for labelled images");
  std::vector<Prediction> earlier;
  if (!options.against.empty()) earlier = read_predictions(options.against);
  if (!options.plain) optimize_model(graph, options.device);
  options.eval.channels_last = !options.plain;
  options.eval.device = options.device;

  EvalResult result;
  {
    Progress progress(std::cerr, progress_style(common.silent()), "evaluating", classify ? "images" : "texts");
    options.eval.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
    result = evaluate(graph, *data, options.eval);
  }
  if (!options.predictions.empty()) write_predictions(options.predictions, result.predictions);
  PairedTest test;
  if (!options.against.empty()) test = compare_predictions(result.predictions, earlier);
  if (common.json) {
    Json object = json_of(result);
    if (!options.against.empty()) object["against"] = json_of(test, options.against);
    print_json(object);
    return;
  }
  print_result(result);
  if (!options.against.empty()) print_paired(test, options.against);
}

}  // namespace

void add_eval(CLI::App& app, CommandLine& command_line) {
  auto options = std::make_shared<Options>();
  CLI::App& command = add_command(app, command_line, "eval", "accuracy of a model on a data set");
  command.add_option("model", options->model, "the model file (.onnx)")->required();
  command
      .add_option("--data", options->data,
                  "the data set: KIND:PATH?option=value&..., such as \"cifar10:test_batch.bin?norm=imagenet\" "
                  "(docs/data.md; 'quench list data')")
      ->required()
      ->type_name("SPEC");
  command.add_option("--batch", options->eval.batch, "images at a time (default: 32, or what the model fixes)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--limit", options->limit, "only the first N items")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command.add_option("--workers", options->eval.workers, "decoding threads (default: 1; 0: none of their own)")
      ->type_name("N")
      ->check(CLI::Range(0, 256));
  command.add_flag("--skip-broken", options->eval.skip_broken, "name broken items and leave them out");
  command.add_option("--predictions", options->predictions, "keep the result of each image (docs/formats.md)")
      ->type_name("FILE");
  command.add_option("--against", options->against, "a predictions file of an earlier run: a paired test with it")
      ->type_name("FILE");
  command.add_flag("--no-optimize", options->plain, "the graph as it is, without the inference passes");
  add_device_option(command, options->device);
  command.callback([&command_line, options] {
    command_line.action = [&command_line, options] { eval(*options, command_line.common); };
  });
}

}  // namespace quench
