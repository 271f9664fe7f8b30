// quench profile: which layers of a quantized model lose the most accuracy.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "core/counted.h"
#include "core/progress.h"
#include "data/item_noun.h"
#include "quench/error.h"
#include "quench/evaluate.h"
#include "quench/profile.h"
#include "report/profile_text.h"

namespace quench {
namespace {

struct Arguments {
  std::string model, data, device = "cpu";
  std::int64_t limit = 0;
  ProfileOptions profile;
};

void run_profile(Arguments options, const CommonOptions& common) {
  check_device(options.device);
  const QuantizedModel model = with_context([&] { return concat("in ", options.model); },
                                            [&] { return quantized_model_of(load_model(options.model)); });
  const std::unique_ptr<Dataset> data = open_data(options.data, options.limit, model.graph);
  options.profile.device = options.device;
  const std::string item = item_noun(*data);
  ProfileRecord record;
  {
    Progress progress(std::cerr, progress_style(common.silent()), "profiling", item + "s");
    options.profile.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
    record = profile(model, *data, options.profile);
  }
  if (common.json) {
    Json object = json_of(record);
    object["seconds"] = record.seconds;
    print_json(object);
    return;
  }
  std::cout
      << profile_table(record, 0, output_columns()) << "\n"
      << counted(record.items, item) << "; SQNR in dB with its standard error over " << item
      << "s. alone: only this layer is "
      << "quantized; so far: all up to it\nloses most: by its weight, by what it reads (input) or by what it gives "
      << "(output)\n";
}

}  // namespace

void add_profile(CLI::App& app, CommandLine& command_line) {
  auto options = std::make_shared<Arguments>();
  CLI::App& command =
      add_command(app, command_line, "profile", "which layers of a quantized model lose the most accuracy");
  command.add_option("model", options->model, "the quantized model (.quench.onnx)")->required();
  command.add_option("--data", options->data, "the data set (docs/data.md); labels are not needed")
      ->required()
      ->type_name("SPEC");
  command.add_option("--limit", options->limit, "only the first N items")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command
      .add_option("--batch", options->profile.batch, "items at a time (default: by memory, or the model's fixed batch)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--workers", options->profile.workers, "decoding threads (default: 1; 0: decode in the main thread)")
      ->type_name("N")
      ->check(CLI::Range(0, 256));
  command.add_flag("--skip-broken", options->profile.skip_broken, "skip broken items");
  add_device_option(command, options->device);
  command.callback([&command_line, options] {
    command_line.action = [&command_line, options] { run_profile(*options, command_line.common); };
  });
}

}  // namespace quench
