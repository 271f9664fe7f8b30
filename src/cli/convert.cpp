// quench convert: turn a calibrated model into one that computes on integers.
#include "quench/convert.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "core/atomic_file.h"
#include "quench/error.h"
#include "quench/export.h"
#include "quench/import.h"
#include "report/convert_text.h"

namespace quench {
namespace {

struct Arguments {
  std::string model, output;
  bool print = false, force = false;
  ConvertOptions convert;
};

void check_output(const Arguments& arguments) {
  QUENCH_CHECK(arguments.print || !arguments.output.empty(), "nothing to do: give -o FILE, --print or both");
  if (arguments.output.empty()) return;
  QUENCH_CHECK(arguments.force || !std::filesystem::exists(arguments.output), "'", arguments.output,
               "' already exists; --force replaces it");
  check_writable(arguments.output);
}

void convert_model(const Arguments& arguments, const CommonOptions& common) {
  check_output(arguments);
  ConvertRecord record;
  const QuantizedModel int8 = with_context(
      [&] { return concat("in ", arguments.model); },
      [&] { return convert(quantized_model_of(import_model(arguments.model)), arguments.convert, &record); });
  if (!arguments.output.empty()) export_onnx(with_plan_text(int8), arguments.output);
  if (common.json) {
    Json object = json_of(record);
    object["model"] = arguments.model;
    if (!arguments.output.empty()) object["written"] = arguments.output;
    if (arguments.print) object["text"] = print_converted(int8);
    return print_json(object);
  }
  if (record.layers == 0)
    std::cerr << "WARNING: no layer computes in integers; the reasons are listed. Integer layers take codes of 8 bits, "
                 "and tensors quantized on both sides\n";
  if (arguments.print) std::cout << print_converted(int8);
  std::cout << convert_text(record);
  if (!arguments.output.empty()) std::cout << "written     " << arguments.output << "\n";
}

}  // namespace

void add_convert(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command =
      add_command(app, command_line, "convert", "turn a calibrated model into one that computes on integers");
  command.add_option("model", arguments->model, "the calibrated model (.quench.onnx)")->required();
  command.add_option("-o,--output", arguments->output, "file for the converted model (NAME.quench.onnx)")
      ->type_name("FILE");
  command
      .add_option("--requantize", arguments->convert.requantize,
                  "how accumulators are rounded to codes (docs/numerics.md 11; default: the platform's rule)")
      ->type_name("RULE");
  command
      .add_option("--multiplier-bits", arguments->convert.multiplier_bits,
                  "bits of half_up's fixed-point multiplier (default: 31)")
      ->type_name("N")
      ->check(CLI::Range(2, 31));
  command.add_flag("--print", arguments->print, "print the layers, as PyTorch prints a converted module");
  command.add_flag("--force", arguments->force, "replace an existing file");
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] { convert_model(*arguments, command_line.common); };
  });
}

}  // namespace quench
