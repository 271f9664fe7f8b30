// quench run: a model on arrays from a file (or on random ones), its outputs into a file.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "core/atomic_file.h"
#include "data/feed.h"
#include "data/npy.h"
#include "data/random_inputs.h"
#include "measure/model_summary.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/npz.h"
#include "quench/pass.h"
#include "quench/registry.h"
#include "report/table.h"

namespace quench {
namespace {

struct Options {
  std::string model, inputs, output, device = "cpu";
  std::vector<std::string> fetch;
  bool random = false, optimize = false;
  std::uint64_t seed = 0;
  DimBindings dims;
  ImportOptions import;
};

// By name; a single array of any name fits a single input.
NamedValues match_inputs(const Graph& graph, const std::map<std::string, RtValue>& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) names.push_back(name);
  if (graph.inputs().size() == 1 && arrays.size() == 1) return {{graph.inputs()[0]->name(), arrays.begin()->second}};
  NamedValues feeds;
  for (const Value* input : graph.inputs()) {
    const auto at = arrays.find(input->name());
    const std::string nearest = nearest_name(input->name(), names);
    QUENCH_CHECK(at != arrays.end(), "there is no array '", input->name(), "' (", input->type().text(),
                 ") among the inputs", nearest.empty() ? "" : concat("; the nearest is '", nearest, "'"));
    feeds[input->name()] = at->second;
  }
  for (const std::string& name : names) QUENCH_CHECK(feeds.contains(name), "the model has no input '", name, "'");
  return feeds;
}

NamedValues inputs_for(const Graph& graph, const Options& options) {
  if (options.random) return random_inputs(bind_dims(graph, options.dims), options.seed);
  return with_context([&] { return "in the inputs " + options.inputs; },
                      [&] { return match_inputs(graph, read_npz(options.inputs)); });
}

std::vector<std::string> outputs_of(const Graph& graph, const Options& options) {
  std::vector<std::string> names = output_names(graph);
  for (const std::string& name : options.fetch) {
    graph.value(name);  // throws with the nearest name
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Json types_of(const NamedValues& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = value.type().text();
  return object;
}

void print_values(const char* title, const NamedValues& values) {
  for (const auto& [name, value] : values) std::cout << title << name << ": " << value.type().text() << "\n";
}

void check_options(const Options& options) {
  QUENCH_CHECK(options.random || !options.inputs.empty(), "no inputs: give --inputs FILE or --random");
  QUENCH_CHECK(!options.random || options.inputs.empty(), "--inputs and --random cannot be given together");
  QUENCH_CHECK(options.random || options.dims.empty(), "--dim is for --random; arrays of a file have their own shapes");
  QUENCH_CHECK(!options.optimize || options.fetch.empty(),
               "--fetch and --optimize cannot be given together: optimized graphs have fewer values");
  check_device(options.device);
  if (!options.output.empty()) check_writable(options.output);
}

void run(const Options& options, bool json) {
  check_options(options);
  Graph graph = load_model(options.model, options.import);
  const std::vector<std::string> names = outputs_of(graph, options);
  const NamedValues inputs = inputs_for(graph, options);
  ExecOptions exec;
  exec.device = options.device;
  exec.seed = options.seed;
  if (options.optimize) optimize_for_running(graph, options.device);
  exec.channels_last = options.optimize;
  Executor executor(graph, exec);
  const auto start = std::chrono::steady_clock::now();
  const NamedValues outputs = executor.run(inputs, names);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.output.empty()) write_npz(options.output, for_numpy(outputs));
  if (json) {
    print_json({{"inputs", types_of(inputs)}, {"outputs", types_of(outputs)}, {"seconds", seconds}});
    return;
  }
  print_values("input   ", inputs);
  print_values("output  ", outputs);
  std::cout << "time    " << seconds << " s\n";
  if (!options.output.empty()) std::cout << "written " << options.output << "\n";
}

}  // namespace

void add_run(CLI::App& app, CommandLine& command_line) {
  auto options = std::make_shared<Options>();
  CLI::App& command = add_command(app, command_line, "run", "run a model on arrays from a file");
  command.add_option("model", options->model, "the model file (.onnx, .pt2, .pt)")->required();
  command.add_option("--inputs", options->inputs, ".npz with one array per input, by name; or .npy for one input")
      ->type_name("FILE");
  command.add_option("-o,--output", options->output, "file for the outputs (.npz)")->type_name("FILE");
  command.add_option("--fetch", options->fetch, "also keep this value inside the graph; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command.add_flag("--random", options->random, "random inputs instead of --inputs");
  command.add_option("--seed", options->seed, "seed of --random and of random operators (default: 0)")
      ->type_name("N")
      ->check(is_count);
  add_dim_option(command, options->dims);
  add_input_shape_option(command, options->import);
  command.add_flag("--optimize", options->optimize, "the fastest float form: BatchNorm folded, kernels fused");
  add_device_option(command, options->device);
  command.callback([&command_line, options] {
    command_line.action = [&command_line, options] { run(*options, command_line.common.json); };
  });
}

}  // namespace quench
