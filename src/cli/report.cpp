// quench report: one HTML page about one or several runs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "core/output_folder.h"
#include "core/progress.h"
#include "quench/error.h"
#include "quench/html_report.h"
#include "report/report_run.h"
#include "report/table.h"

namespace fs = std::filesystem;

namespace quench {
namespace {

struct Arguments {
  std::vector<std::string> folders, verified, speeds;
  std::string output, data, device = "cpu";
  std::int64_t items = HistogramOptions().items;
};

// Keeps them in the folder, as `quench quantize --report` does.
void count_activations(const Arguments& arguments, const std::string& folder, const CommonOptions& common) {
  const QuantizedModel model = quantized_model_of(load_model(model_of_run(folder)));
  const std::unique_ptr<Dataset> data = open_data(arguments.data, 0, model.graph);
  HistogramOptions options;
  options.items = arguments.items;
  options.device = arguments.device;
  Progress progress(std::cerr, progress_style(common.silent()), "counting", "items");
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
  const std::vector<TensorHistogram> found = activation_histograms(model, *data, options);
  write_own_file(folder, kHistogramsFile, histograms_text(found, std::min(arguments.items, data->size())));
}

std::vector<ReportRun> runs_of(const Arguments& arguments) {
  std::vector<ReportRun> runs;
  for (const std::string& folder : arguments.folders) runs.push_back({.folder = folder});
  QUENCH_CHECK(
      runs.size() == 1 || (arguments.verified.empty() && arguments.speeds.empty()),
      "--verify and --bench say nothing about which of several runs they belong to: give them with one folder");
  runs.front().verified = arguments.verified;
  runs.front().speeds = arguments.speeds;
  return runs;
}

void report(const Arguments& arguments, const CommonOptions& common) {
  QUENCH_CHECK(arguments.folders.size() == 1 || !arguments.output.empty(),
               "no output: a report about several runs belongs to none of their folders; give -o FILE.html");
  for (const std::string& folder : arguments.folders)
    QUENCH_CHECK(
        !own_files(folder).empty() || !fs::exists(folder) || (!arguments.output.empty() && arguments.data.empty()), "'",
        folder, "' has no list of its files (", kFileList,
        "), so nothing is written into it: give -o FILE.html, and no --data");
  QUENCH_CHECK(arguments.output.empty() || arguments.output.ends_with(".html"), "the page '", arguments.output,
               "' must end in .html");
  check_device(arguments.device);
  const std::vector<ReportRun> runs = runs_of(arguments);
  if (!arguments.data.empty())
    for (const ReportRun& run : runs) count_activations(arguments, run.folder, common);
  std::string file = arguments.output;
  if (!file.empty()) {
    write_html_report(runs, file);
  } else {
    file = (fs::path(runs.front().folder) / kReportFile).string();
    write_own_file(runs.front().folder, kReportFile, html_report(runs));
  }
  const auto bytes = static_cast<std::int64_t>(fs::file_size(file));
  if (common.json) return print_json({{"written", file}, {"bytes", bytes}, {"runs", runs.size()}});
  std::cout << "written     " << file << "  " << size_text(bytes) << "\n";
}

}  // namespace

void add_report(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command =
      add_command(app, command_line, "report", "one HTML page about a run, or about several side by side");
  command
      .add_option("folder", arguments->folders, "what 'quench quantize' or 'quench train' wrote; several are compared")
      ->required()
      ->type_name("FOLDER");
  command.add_option("-o,--output", arguments->output, "the page to write (default: FOLDER/report.html)")
      ->type_name("FILE");
  command.add_option("--data", arguments->data, "data to count the values of activations on (docs/data.md)")
      ->type_name("SPEC");
  command.add_option("--limit", arguments->items, "only the first N items of that data (default: 32)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command
      .add_option("--verify", arguments->verified,
                  "what 'quench verify --json' printed, beside what it kept in the folder; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--bench", arguments->speeds,
                  "what 'quench bench --json' printed, beside what it kept in the folder; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_device_option(command, arguments->device);
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] { report(*arguments, command_line.common); };
  });
}

}  // namespace quench
