// quench plan: what a platform would quantize, and why; and how two plans differ.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "cli/quant_options.h"
#include "core/atomic_file.h"
#include "quench/error.h"
#include "report/plan_json.h"

namespace quench {
namespace {

struct Arguments {
  std::string model, output;
  bool force = false;
  std::vector<std::string> diff;
  QuantArguments quant;
  ImportOptions import;
};

void print_diff(const Arguments& options, bool json) {
  QUENCH_CHECK(options.model.empty() && options.output.empty() && !says_something(options.quant),
               "--diff compares two plans: it takes neither a model nor -o, and nothing about how to quantize");
  const std::vector<std::string> lines = diff_plans(read_plan_of(options.diff[0]), read_plan_of(options.diff[1]));
  if (json) {
    print_json({{"differences", lines}});
    return;
  }
  for (const std::string& line : lines) std::cout << line << "\n";
  if (lines.empty()) std::cout << "the plans are equal\n";
}

// A plan is there to be edited: one that is there already may have been.
void check_output(const Arguments& options) {
  QUENCH_CHECK(options.force || !std::filesystem::exists(options.output), "'", options.output,
               "' already exists; --force replaces it");
  check_writable(options.output);
}

void plan(const Arguments& options, bool json) {
  if (!options.diff.empty()) return print_diff(options, json);
  const std::string model = options.model.empty() ? job_of(options.quant).model : options.model;
  QUENCH_CHECK(!model.empty(), "no model was given (as an argument, or in the config), and no --diff A B");
  const JobConfig job = planning_job_of(options.quant);
  if (!options.output.empty()) check_output(options);
  const QuantPlan made = plan_model(load_model(model, options.import), job);
  if (!options.output.empty()) write_file_atomically(options.output, to_yaml(made));
  if (json)
    print_json(json_of(made));
  else if (options.output.empty())
    std::cout << to_yaml(made);
  else
    std::cout << plan_summary(made) << "written     " << options.output << "\n";
}

}  // namespace

void add_plan(CLI::App& app, CommandLine& command_line) {
  auto options = std::make_shared<Arguments>();
  CLI::App& command = add_command(app, command_line, "plan", "what a platform quantizes in a model, and why");
  command.add_option("model", options->model, "the float model file (.onnx, .pt2, .pt)");
  add_quant_options(command, options->quant);
  add_input_shape_option(command, options->import);
  command.add_option("-o,--output", options->output, "file for the plan (YAML; default: print it)")->type_name("FILE");
  command.add_flag("--force", options->force, "replace the file of -o if it exists");
  command.add_option("--diff", options->diff, "show how two plans, or models that hold one, differ")
      ->type_name("A B")
      ->expected(2);
  command.callback([&command_line, options] {
    take_back_model(options->quant, options->model);
    command_line.action = [&command_line, options] { plan(*options, command_line.common.json); };
  });
}

}  // namespace quench
