#include "cli/quantize_job.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/load_model.h"
#include "config/unused_keys.h"
#include "core/atomic_file.h"
#include "core/joined.h"
#include "core/output_folder.h"
#include "deploy/file_endings.h"
#include "quantize/stages.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/html_report.h"
#include "quench/open_model.h"
#include "quench/platform.h"
#include "quench/plugin.h"
#include "quench/ptq_method.h"

namespace fs = std::filesystem;

namespace quench {
namespace {

// "2G", "500M", "1.5G", in gigabytes.
double gigabytes(const std::string& text) {
  double number = 0;
  char unit = 0;
  int end = 0;
  const bool fits = std::sscanf(text.c_str(), "%lf%c%n", &number, &unit, &end) == 2 &&
                    end == static_cast<int>(text.size()) && number > 0 && std::string("KMGT").find(unit) < 4;
  QUENCH_CHECK(fits, "--max-memory must look like 2G or 500M, not '", text, "'");
  return number * std::pow(1024.0, static_cast<double>(std::string("KMGT").find(unit)) - 2.0);
}

// --method was among the settings of the config; a later one may have named another.
void set_method(const QuantizeArguments& arguments, JobConfig& config) {
  MethodConfig& method = config.method;
  QUENCH_CHECK(arguments.method.empty() || method.name == arguments.method,
               "--method names one method, and --set method another or none: omit one of them");
  QUENCH_CHECK(!method.name.empty() || arguments.max_memory.empty(),
               "--max-memory bounds the caches of reconstruction: give --method NAME, too");
  QUENCH_CHECK(!method.name.empty() || arguments.trains || !arguments.resume,
               "--resume continues a reconstruction: give --method NAME, too");
  if (!arguments.max_memory.empty()) method.options.set("max_memory", gigabytes(arguments.max_memory));
}

// Whether the stage is reached.
bool reaches(const QuantizeJob& job, const std::string& stage) {
  if (job.dry_run) return false;
  return job.stop_after.empty() || !comes_after(stage, job.stop_after);
}

// Calibration looks at this many items of the training data where no others are named.
constexpr std::int64_t kItemsForCalibration = 1024;

// Of a flag and --set the flag would win without a word.
void check_said_once(const QuantizeArguments& arguments, const std::string& flag, const std::string& key) {
  for (const std::vector<std::string>* settings : {&arguments.quant.set, &arguments.quant.cfg_options})
    for (const std::string& setting : *settings)
      QUENCH_CHECK(setting.rfind(key + "=", 0) != 0 && setting.rfind("quench." + key + "=", 0) != 0, flag, " and '",
                   setting, "' set the same: omit one of them");
}

void set_training(const QuantizeArguments& arguments, JobConfig& config) {
  QUENCH_CHECK(arguments.trains || !config.train, "the config asks for training (loop '", config.train->loop,
               "'), which 'quench quantize' does not do: use 'quench train', or remove the training keys");
  if (!arguments.trains) return;
  QUENCH_CHECK(config.train || config.layout != "mmrazor",
               "the config has no loop that trains with quantizers ('train_cfg.type' QATEpochBasedLoop or "
               "LSQEpochBasedLoop); 'quench quantize' does post-training quantization");
  refuse_unbuilt(config, JobStage::kTrain);
  if (!config.train) config.train.emplace();
  if (!arguments.train.empty()) config.data.train = parse_spec(arguments.train);
  if (!arguments.val.empty()) config.data.val = parse_spec(arguments.val);
  if (arguments.epochs) check_said_once(arguments, "--epochs", "train.epochs");
  if (arguments.lr) check_said_once(arguments, "--lr", "train.optimizer.lr");
  if (arguments.train_batch) check_said_once(arguments, "--train-batch", "train.batch");
  if (arguments.epochs) config.train->epochs = *arguments.epochs;
  if (arguments.lr) config.train->optimizer.lr = *arguments.lr;
  if (arguments.train_batch) config.train->batch = *arguments.train_batch;
  if (!arguments.metrics.empty()) config.train->metric.clear();  // it is their first
  check_train_options(*config.train);
  if (config.data.calib || !config.data.train) return;
  config.data.calib = config.data.train;
  const std::int64_t given = integer_option(*config.data.train, "limit", 1).value_or(kItemsForCalibration);
  config.data.calib->options["limit"] = std::to_string(std::min(given, kItemsForCalibration));
}

void lay_options(const QuantizeArguments& arguments, JobConfig& config) {
  if (!arguments.model.empty()) config.model = arguments.model;
  if (!arguments.calib.empty()) config.data.calib = parse_spec(arguments.calib);
  if (!arguments.eval.empty()) config.data.eval = parse_spec(arguments.eval);
  if (!arguments.metrics.empty()) config.metrics = arguments.metrics;
  const bool measures = config.data.eval || config.data.val || !arguments.val.empty();
  QUENCH_CHECK(arguments.metrics.empty() || measures, "--metric: there is no data to measure on; give --eval SPEC",
               config.train ? " or --val SPEC" : "");
  if (!arguments.output.empty()) config.output = arguments.output;
  if (arguments.seed) config.seed = *arguments.seed;
  if (arguments.equalize) config.equalize = true;
  if (!arguments.bias_correction.empty()) config.bias_correction = bias_correction_from_name(arguments.bias_correction);
  if (!arguments.statistics.empty()) config.calibration.statistics = arguments.statistics;
  if (arguments.batch > 0) config.calibration.batch = arguments.batch;
  if (arguments.skip_broken) config.calibration.skip_broken = true;
  if (arguments.device != "cpu") config.calibration.device = arguments.device;
  set_method(arguments, config);
  set_training(arguments, config);
  normalize_data(config);
  config.calibration.workers = std::max(config.calibration.workers, arguments.workers);
}

void take_plan(const std::string& file, QuantizeJob& job) {
  if (file.empty()) return;
  job.plan = read_plan_of(file);
  job.plan_file = file;
  std::string& platform = job.config.quant.platform;
  const std::string of_plan = with_context(
      [&] { return concat("in the plan ", file, "; if the name is a plug-in's, load that: --plugin FILE"); },
      [&] { return platform_name(job.plan->platform); });
  QUENCH_CHECK(platform.empty() || platform == of_plan, "the plan ", file, " is for platform '", of_plan,
               "', not for '", platform, "'");
  platform = of_plan;
}

bool holds_units(const std::string& folder) {
  std::error_code absent;
  const fs::directory_iterator files(folder, absent);
  return std::any_of(begin(files), end(files),
                     [](const fs::directory_entry& file) { return file.path().extension() == ".safetensors"; });
}

// A folder that does not exist yet is created only when there is something to put into it.
void check_output(const QuantizeJob& job) {
  fs::path folder = job.config.output;
  while (!fs::exists(folder) && folder.has_parent_path() && folder != folder.parent_path())
    folder = folder.parent_path();
  if (!fs::exists(folder)) folder = ".";
  QUENCH_CHECK(fs::is_directory(folder), "the output '", job.config.output, "' cannot be a folder: '", folder.string(),
               "' is a file");
  check_writable((folder / (job.name + kCalibratedEnding)).string());
  if (job.dry_run) return;
  std::vector<std::string> files = {job.name + kCalibratedEnding, "plan.yaml", "record.json", "report.txt"};
  if (job.report) files.insert(files.end(), {kReportFile, kHistogramsFile});
  for (const std::string& file : files) check_free(job.config.output, file, job.force);
}

// A product must not replace the float model, which may have any name.
void check_model_is_kept(const QuantizeJob& job) {
  for (const char* ending : kDeployedEndings) {
    const fs::path product = fs::path(job.deploy_folder()) / (job.deploy_name() + ending);
    std::error_code absent;
    QUENCH_CHECK(!fs::equivalent(product, job.config.model, absent), "the deployed '", product.string(),
                 "' would replace the model itself: choose another folder or name ('deploy' in the config), or "
                 "--no-deploy");
  }
}

// Checks what the config says about deployment before the work: exporter options, files that are in the way.
void check_deploy(const QuantizeJob& job) {
  check_model_is_kept(job);
  if (!job.deploy_configured() || job.config.quant.platform.empty()) return;
  const std::string no_files = why_no_files(job.config.quant.platform);
  QUENCH_CHECK(no_files.empty(), "'deploy' is configured, but ", no_files);
  const std::string& product = find_platform(job.config.quant.platform).product;
  job.config.deploy.exporter.checked(ExporterRegistry::instance().get(product).options,
                                     concat("exporter '", product, "'"));
  const fs::path first = fs::path(job.deploy_folder()) / (job.deploy_name() + kQuantizersEnding);
  QUENCH_CHECK(job.config.deploy.folder.empty() || job.force || !fs::exists(first), "'", first.string(),
               "' already exists; --force replaces it");
}

void check_stages(const QuantizeJob& job) {
  for (const std::string& stage : {job.stop_after, job.dump_after})
    if (!stage.empty()) check_stage(stage);
  QUENCH_CHECK(!job.dry_run || job.stop_after.empty() || !comes_after("plan", job.stop_after),
               "--dry-run prints the plan, but --stop-after ", job.stop_after, " ends before it: omit one of them");
}

// What a config names as its model, but cannot be used.
std::string why_no_model(const JobConfig& config) {
  std::string why;
  for (const std::string& note : config.notes)
    if (note.starts_with("'architecture'") || note.starts_with("'float_checkpoint'")) why += "; " + note;
  return why;
}

void check(const QuantizeJob& job) {
  const JobConfig& config = job.config;
  check_device(job.device);
  check_stages(job);
  refuse_unbuilt(config, JobStage::kQuantize);
  QUENCH_CHECK(!config.model.empty(), "no model: name it on the command line or as 'model' in the config",
               why_no_model(config));
  QUENCH_CHECK(!config.quant.platform.empty(), "no platform: give --platform NAME ('quench list platforms')");
  QUENCH_CHECK(!config.train || config.data.train || !reaches(job, "train"),
               "no data to train on: give --train SPEC (docs/data.md)");
  QUENCH_CHECK(config.data.calib || !reaches(job, "calibrate"),
               "no data to calibrate on: give --calib SPEC (docs/data.md)");
  QUENCH_CHECK(job.dry_run || !config.output.empty(), "no output: give -o FOLDER");
  if (!config.output.empty()) check_output(job);
  if (job.deploy) check_deploy(job);
}

// How it is quantized.
void add_algorithm_options(CLI::App& command, QuantizeArguments& arguments) {
  command
      .add_option("--method", arguments.method,
                  "learn the rounding: adaround, brecq, qdrop, blockwise, networkwise ('quench list methods'); options "
                  "by --set method.NAME=VALUE")
      ->type_name("NAME");
  command
      .add_option("--max-memory", arguments.max_memory,
                  "memory for the method's caches, such as 2G or 500M; the rest goes to files")
      ->type_name("SIZE");
  command.add_flag("--resume", arguments.resume, "continue an interrupted run of --method or of training");
  command.add_flag("--equalize", arguments.equalize, "cross-layer equalization before quantizing");
  command.add_option("--bias-correction", arguments.bias_correction, "none, fast or sequential")->type_name("HOW");
}

// How much of the job runs, and what it may overwrite.
void add_run_options(CLI::App& command, QuantizeArguments& arguments) {
  command.add_flag("--report", arguments.report,
                   "also write report.html ('quench report'), with histograms of activations on 32 items");
  command.add_flag("--skip-broken", arguments.skip_broken, "report broken items and skip them");
  command.add_flag("--force", arguments.force, "replace existing files, whoever wrote them");
  command.add_flag("--no-deploy", arguments.no_deploy, "do not write the target's files (into DIR/deploy)");
  command.add_flag("--dry-run", arguments.dry_run,
                   "print the plan, sizes and memory needed; do no work, write no files");
  command.add_option("--stop-after", arguments.stop_after, "the last stage: " + joined(quantize_stages()))
      ->type_name("STAGE");
  command.add_option("--dump-after", arguments.dump_after, "write the graph's text form after this stage")
      ->type_name("STAGE");
  command.add_flag("--time", arguments.time, "time and memory of each stage on stderr as it ends");
}

}  // namespace

// What an earlier job left is replaced only if someone says so; another model's results too.
void check_earlier_results(const QuantizeJob& job) {
  if (job.dry_run || job.config.output.empty()) return;
  if (job.force) return;
  const bool learns_units = !job.config.method.name.empty();
  QUENCH_CHECK((job.resume && learns_units) || !holds_units(job.checkpoint()), "'", job.checkpoint(),
               "' holds finished units of an interrupted run: the same command as before with --resume continues it, "
               "--force discards them");
  if (job.resume && (!learns_units || fs::exists(job.checkpoint()))) return;
  const std::string what = job.resume ? "there is nothing to resume: " : "";
  for (const std::string& file : own_files(job.config.output))
    QUENCH_CHECK(!file.ends_with(kCalibratedEnding) || file.find('/') != std::string::npos, what, "'", job.file(file),
                 "' already exists; --force replaces it, and all files of that job with it");
  const std::string checkpoint = job.training() + "/checkpoint.safetensors";
  QUENCH_CHECK(!job.config.train || !fs::exists(checkpoint), "'", checkpoint,
               "' belongs to an interrupted training run; --resume continues it, --force discards it");
}

void add_quantize_options(CLI::App& command, QuantizeArguments& arguments) {
  command.add_option("model", arguments.model,
                     "the float model: a file (.onnx, .pt2, .pt), zoo:NAME?weights=FILE, or a config that names one");
  add_quant_options(command, arguments.quant);
  add_input_shape_option(command, arguments.import);
  command.add_option("--calib", arguments.calib, "data to calibrate on (docs/data.md); one item is enough")
      ->type_name("SPEC");
  command.add_option("--eval", arguments.eval, "data to measure accuracy on, in float and quantized")
      ->type_name("SPEC");
  add_metric_option(command, arguments.metrics, "what --eval data is measured by");
  command.add_flag("--integer,!--no-integer", arguments.integer,
                   "measure accuracy in integers too (default: if all layers have fast kernels)");
  command.add_option("-o,--output", arguments.output, "the folder for model, plan, record and report")
      ->type_name("FOLDER");
  command.add_option("--plan", arguments.plan, "an edited plan to use instead of the platform's own ('quench plan')")
      ->type_name("FILE");
  add_algorithm_options(command, arguments);
  command.add_option("--statistics", arguments.statistics, "a folder that keeps what the observers saw")
      ->type_name("FOLDER");
  command.add_option("--seed", arguments.seed, "seed of all random numbers (default: 0)")
      ->type_name("N")
      ->check(is_count);
  command
      .add_option("--batch", arguments.batch,
                  "items at a time in evaluation, and for observers that average over batches (default: 32, "
                  "or the model's fixed batch)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--workers", arguments.workers, "decoding threads (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(0, 256));
  command
      .add_option("--profile", arguments.profile_items,
                  "items for measuring the errors of single layers (default: 8; 0: none)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20));
  add_run_options(command, arguments);
  add_device_option(command, arguments.device);
}

void add_training_options(CLI::App& command, QuantizeArguments& arguments) {
  arguments.trains = true;
  command.add_option("--train", arguments.train, "data to train on (docs/data.md)")->type_name("SPEC");
  command
      .add_option("--val", arguments.val,
                  "data to evaluate after each epoch; the best epoch is kept (default: the last one)")
      ->type_name("SPEC");
  command.add_option("--epochs", arguments.epochs, "passes over the training data (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--lr", arguments.lr, "highest learning rate (default: 0.01)")->type_name("RATE");
  command.add_option("--train-batch", arguments.train_batch, "items per step (default: 128)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
}

std::string QuantizeJob::file(const std::string& file_name) const {
  return (fs::path(config.output) / file_name).string();
}

std::string QuantizeJob::deploy_folder() const {
  return config.deploy.folder.empty() ? file("deploy") : config.deploy.folder;
}

bool QuantizeJob::deploy_configured() const {
  const DeployConfig& said = config.deploy;
  return !said.folder.empty() || !said.name.empty() || said.opset != 0 || !said.exporter.values().empty();
}

QuantizeJob job_of(const QuantizeArguments& arguments) {
  QUENCH_CHECK(arguments.plan.empty() || arguments.quant.bits.empty(),
               "--bits has no effect with --plan, which says how many bits each tensor has: edit the plan, or make one "
               "with other bits (quench plan --bits)");
  QuantizeJob job;
  QuantArguments quant = arguments.quant;
  const auto is_config = [](const std::string& file) {
    return file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".json");
  };
  QuantizeArguments given = arguments;
  take_back_model(quant, given.model);
  if (quant.config.empty() && is_config(given.model)) std::swap(quant.config, given.model);
  // Before the user's own settings, which may be of this method's options.
  if (!arguments.method.empty()) quant.set.insert(quant.set.begin(), concat("method.name=", arguments.method));
  job.config = job_of(quant);
  job.config.plugins = loaded_plugins();  // the record's config names those of --plugin too
  job.import = arguments.import;
  if (job.import.inputs.empty())
    for (const std::string& shape : job.config.input_shapes) job.import.inputs.push_back(parse_input_shape(shape));
  lay_options(given, job.config);
  take_plan(arguments.plan, job);
  job.config = with_platform_defaults(job.config);
  job.stop_after = arguments.stop_after;
  job.dump_after = arguments.dump_after;
  job.device = job.config.calibration.device;
  job.deploy = !arguments.no_deploy;
  job.report = arguments.report;
  job.force = arguments.force;
  job.dry_run = arguments.dry_run;
  job.integer = arguments.integer;
  job.resume = arguments.resume;
  job.time = arguments.time;
  job.skip_broken = job.config.calibration.skip_broken;
  job.batch = job.config.calibration.batch;
  job.profile_items = arguments.profile_items;
  job.workers = job.config.calibration.workers;
  job.name = name_of_model(job.config.model);
  unused_keys(job.config);  // throws for what cannot be left out; quantize() notes the rest
  check(job);
  return job;
}

}  // namespace quench
