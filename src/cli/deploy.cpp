// quench deploy: writes the files for a calibrated model's target.
#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/flag_names.h"
#include "cli/load_model.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/import.h"
#include "report/deploy_text.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string model, output, platform, name, data;
  std::vector<std::string> options;
  std::int64_t opset = 0;
  bool force = false;
};

// "resnet20.quench.onnx" -> "resnet20"
std::string stem_of(const std::string& path) {
  fs::path name = fs::path(path).filename();
  while (name.extension() == ".onnx" || name.extension() == ".quench") name = name.stem();
  return name.string();
}

OptionValue option_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true" ? 1.0 : 0.0;
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

Options exporter_options(const std::vector<std::string>& given) {
  Options options;
  for (const std::string& word : given) {
    const auto equals = word.find('=');
    QUENCH_CHECK(equals != std::string::npos && equals > 0, "--option takes NAME=VALUE, not '", word, "'");
    options.set(word.substr(0, equals), option_value(word.substr(equals + 1)));
  }
  return options;
}

void deploy_model(const Arguments& arguments, const CommonOptions& common) {
  DeployOptions options;
  options.platform = arguments.platform;
  options.name = arguments.name.empty() ? stem_of(arguments.model) : arguments.name;
  options.opset = arguments.opset;
  options.exporter = exporter_options(arguments.options);
  const QuantizedModel model = with_context([&] { return concat("in ", arguments.model); },
                                            [&] { return quantized_model_of(import_model(arguments.model)); });
  const std::unique_ptr<Dataset> data = arguments.data.empty() ? nullptr : open_data(arguments.data, 0, model.graph);
  options.data = data.get();
  const Deployment deployment =
      with_context([&] { return concat("in ", arguments.model); }, [&] { return deploy(model, options); });
  write_deployment(deployment, arguments.output, arguments.force);
  if (common.json) return print_json(json_of(deployment, arguments.output));
  std::cout << "platform    " << deployment.platform << "\n" << in_flags(deployment_text(deployment, arguments.output));
}

}  // namespace

void add_deploy(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command =
      add_command(app, command_line, "deploy", "write the files that a calibrated model's target reads");
  command.alias("export");  // mmrazor's
  command.add_option("model", arguments->model, "the calibrated model (.quench.onnx)")->required();
  command.add_option("-o,--output", arguments->output, "the folder for the files")->type_name("DIR")->required();
  command
      .add_option("--platform", arguments->platform,
                  "a target other than the plan's, if it can run the plan ('quench list platforms')")
      ->type_name("NAME");
  command.add_option("--name", arguments->name, "name of the files (default: the model file's)")->type_name("NAME");
  command.add_option("--opset", arguments->opset, "opset of the models (default: the lowest that works)")
      ->type_name("N")
      ->check(CLI::Range(11, 28));
  command.add_option("--option", arguments->options, "an option of the exporter ('quench list exporters'); repeatable")
      ->type_name("NAME=VALUE");
  command
      .add_option("--data", arguments->data,
                  "compare the exported files with the model on the first items of this data (default: random inputs)")
      ->type_name("SPEC");
  command.add_flag("--force", arguments->force, "replace existing files, and remove those of an earlier deployment");
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] { deploy_model(*arguments, command_line.common); };
  });
}

}  // namespace quench
