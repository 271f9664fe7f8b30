// quench bench: how fast a model runs here, in float or in integers, and where the time goes.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/engine_option.h"
#include "cli/load_model.h"
#include "core/progress.h"
#include "measure/model_summary.h"
#include "quench/error.h"
#include "quench/process.h"
#include "report/kept_results.h"
#include "report/speed_text.h"

namespace quench {
namespace {

struct Arguments {
  std::string model, engine;
  std::int64_t batch = 0;
  int steps = 10;
  DimBindings dims;
  ImportOptions import;
  SpeedOptions speed;
};

// Every input's first dim, if it is open.
Graph with_batch(Graph graph, std::int64_t batch) {
  if (batch == 0) return graph;
  for (Value* input : graph.inputs()) {
    QUENCH_CHECK(input->has_rank() && input->rank() > 0, "input '", input->name(), "' has no batch");
    TypeInfo type = input->type();
    const Dim first = (*type.dims)[0];
    QUENCH_CHECK(!first.is_number() || first.number() == batch, "the model has a fixed batch of ", first.text(),
                 ", not ", batch);
    (*type.dims)[0] = Dim(batch);
    input->set_type(type);
  }
  return graph;
}

void bench(const Arguments& arguments, const CommonOptions& common) {
  check_device(arguments.speed.device);
  const Graph graph = graph_for(arguments.engine, load_model(arguments.model, arguments.import));
  SpeedOptions options = arguments.speed;
  Progress progress(std::cerr, progress_style(common.silent()), "measuring", "ms");
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
  const SpeedRecord record = measure_speed(bind_dims(with_batch(graph, arguments.batch), arguments.dims), options);
  Json result = {{"model", arguments.model}, {"run_as", arguments.engine.empty() ? "file" : arguments.engine}};
  result.update(json_of(record));
  if (common.json)
    print_json(result);
  else
    std::cout << speed_text(record, arguments.steps);
  keep_result(arguments.model, kBenchFile, result, {"run_as", "batch", "threads"});
}

}  // namespace

void add_bench(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command = add_command(app, command_line, "bench", "speed and memory of a model, and its slowest layers");
  command.add_option("model", arguments->model, "the model file: float, quantized or converted")->required();
  add_engine_option(command, arguments->engine);
  command.add_option("--batch", arguments->batch, "items at a time (default: 1, or the model's fixed batch)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", arguments->speed.seconds, "how long to measure (default: 3)")
      ->type_name("S")
      ->check(CLI::Range(0.001, 86400.0));
  command.add_option("--steps", arguments->steps, "how many of the slowest layers to show (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20));
  add_dim_option(command, arguments->dims);
  add_input_shape_option(command, arguments->import);
  add_device_option(command, arguments->speed.device);
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] { bench(*arguments, command_line.common); };
  });
}

}  // namespace quench
