// quench quantize: from a float model to a calibrated one, with plan, record and report. quench train: to a trained
// one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "cli/command.h"
#include "cli/dry_run.h"
#include "cli/flag_names.h"
#include "cli/load_model.h"
#include "cli/quantize_job.h"
#include "cli/run_report.h"
#include "core/atomic_file.h"
#include "core/folder_lock.h"
#include "core/interrupt.h"
#include "core/output_folder.h"
#include "core/progress.h"
#include "data/doubts.h"
#include "data/item_noun.h"
#include "deploy/file_endings.h"
#include "quantize/stages.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/export.h"
#include "quench/open_model.h"
#include "quench/process.h"
#include "quench/quantize.h"
#include "report/deploy_text.h"
#include "report/file_hash.h"
#include "report/plan_json.h"
#include "report/quantize_record.h"
#include "report/reconstruct_text.h"
#include "report/result_file.h"
#include "report/table.h"
#include "report/train_text.h"

namespace quench {
namespace {

struct JobDatasets {
  std::unique_ptr<Dataset> calib, eval, profile, train, validation;
};

DatasetSpec limited(DatasetSpec spec, std::int64_t most) {
  const std::int64_t given = integer_option(spec, "limit", 1).value_or(most);
  if (most > 0) spec.options["limit"] = std::to_string(std::min(given, most));
  return spec;
}

JobDatasets open_datasets(const QuantizeJob& job, const Graph& graph) {
  const JobData& data = job.config.data;
  JobDatasets opened;
  if (data.calib) opened.calib = open_dataset(limited(*data.calib, job.config.calibration_samples), graph);
  if (data.calib && job.profile_items > 0)
    opened.profile = open_dataset(limited(*data.calib, job.profile_items), graph);
  if (data.eval) opened.eval = open_dataset(*data.eval, graph);
  if (data.train && job.config.train) opened.train = open_dataset(*data.train, graph);
  if (data.val && job.config.train) opened.validation = open_dataset(*data.val, graph);
  return opened;
}

std::vector<FileHash> hash_files(const JobConfig& config) {
  std::vector<FileHash> files;
  if (const std::string file = file_of_model(config.model); !file.empty()) files.push_back(hash_file(file));
  for (const auto& spec : {config.data.calib, config.data.eval, config.data.train, config.data.val}) {
    if (!spec) continue;
    for (FileHash& file : hash_data(*spec)) files.push_back(std::move(file));
  }
  return files;
}

std::string dump_name(const std::string& stage) { return concat("after_", stage, ".txt"); }

void after_stage(const QuantizeJob& job, const StageRecord& stage, const Graph& graph) {
  if (!job.place.is_first()) return;
  if (job.time)
    std::cerr << stage.name << ": " << stage.seconds << " s, peak memory " << size_text(stage.peak_bytes) << "\n";
  if (stage.name != job.dump_after || job.dry_run) return;
  std::filesystem::create_directories(job.config.output);
  write_file_atomically(job.file(dump_name(stage.name)), to_text(graph, {.data = false}));
}

// A refusal by the target's exporter is no reason to lose the model: the report says that there are no files, and why.
std::optional<Deployment> deploy_graph(const QuantizeJob& job, const Dataset& data, const QuantizedModel& model,
                                       QuantizeRecord& record, std::exception_ptr& wrong) {
  const DeployConfig& config = job.config.deploy;
  if (const std::string reason = why_no_files(job.config.quant.platform); !reason.empty()) {
    record.notes.push_back("not deployed: " + reason);
    return std::nullopt;
  }
  try {
    return deploy(model, {"", job.deploy_name(), config.opset, config.exporter, &data});
  } catch (const Error& error) {
    record.notes.push_back("not deployed: " + error.message());
    return std::nullopt;
  } catch (const InternalError& error) {  // an export that computes the wrong thing: our bug, reported at the end
    record.notes.push_back("not deployed: " + error.error().message());
    wrong = std::current_exception();
    return std::nullopt;
  }
}

// All of it or nothing: what an earlier run left in the folder is then gone.
void write_results(const QuantizeJob& job, const Quantized& result, const std::optional<Deployment>& files,
                   const Dataset* calib) {
  std::optional<PostponedInterrupt> postponed;
  OutputFolder folder(job.config.output);
  const QuantizeRecord& record = result.record;
  Graph file = result_file(result);
  for (const auto& [key, value] : job.config.metadata) file.metadata[key] = value;
  export_onnx(file, folder.staged(job.name + kCalibratedEnding));
  if (record.plan) write_file_atomically(folder.staged("plan.yaml"), to_yaml(plan_of_float_model(record)));
  write_file_atomically(folder.staged("record.json"), json_of(record).dump(2) + "\n");
  write_file_atomically(folder.staged("report.txt"), report_text(record));
  if (const std::string dump = job.file(dump_name(job.dump_after)); std::filesystem::exists(dump))
    std::filesystem::rename(dump, folder.staged(dump_name(job.dump_after)));
  if (files && job.config.deploy.folder.empty()) write_deployment(*files, folder.staged("deploy"));
  if (job.report) write_run_report(job, folder, result.model, calib);
  postponed.emplace();  // or it would say that --resume goes on, and there were less and less to go on from
  folder.commit(job.force);
  folder.discard(kCheckpoint);
  set_interrupt_advice("\nmodel, record and report were written");
}

// A bar for each kind of work, which ends where the next begins.
class ProgressBars {
 public:
  ProgressBars(bool silent, std::string items) : style_(progress_style(silent)), items_(std::move(items)) {}
  void show(const std::string& what, std::int64_t done, std::int64_t total) {
    // Reconstruction counts over all units: one bar, with the present unit's name.
    const bool learns = what.starts_with("reconstructing"), goes_on = learns && what_.starts_with("reconstructing");
    const std::string unit = learns ? "iterations" : what == "training" ? "steps" : items_;
    if (what != what_ && !goes_on) bar_.reset();
    if (!bar_) {
      bar_ = std::make_unique<Progress>(std::cerr, style_, what, unit);
      bar_->begin(done);  // of an earlier run, or from before the clock was started
    }
    if (goes_on) bar_->rename(what);
    what_ = what;
    bar_->show(done, total);
  }
  void end() { bar_.reset(); }
  void clear_line() {
    if (bar_) bar_->clear_line();
  }

 private:
  decltype(progress_style(true)) style_;
  std::string items_, what_;
  std::unique_ptr<Progress> bar_;
};

// What an interrupted run left is discarded (--force) only when this one gets as far as that.
void discard_units(const QuantizeJob& job, bool silent) {
  if (std::filesystem::remove_all(job.checkpoint()) > 1 && !silent)
    std::cerr << "starting afresh: what an interrupted run had learned was discarded\n";
}

void discard_training(const QuantizeJob& job, bool silent) {
  if (!std::filesystem::exists(job.training() + "/checkpoint.safetensors")) return;
  for (const char* file : {"checkpoint.safetensors", "best.safetensors", "steps.csv", "epochs.csv", "log.jsonl"})
    std::filesystem::remove(job.training() + "/" + file);
  if (!silent) std::cerr << "starting afresh: an earlier run's checkpoint was discarded (--resume goes on from it)\n";
}

void follow_method(QuantizeOptions& options, const QuantizeJob& job, ProgressBars& bars, bool silent) {
  options.checkpoint = job.checkpoint();
  options.unit_done = [&bars, silent](const UnitRecord& unit, std::size_t index, std::size_t count) {
    set_interrupt_advice("\nthe same command with --resume goes on after the last finished unit");
    if (silent) return;
    bars.clear_line();
    std::cerr << unit_line(unit, index, count) << std::endl;
  };
}

// `postponed` is there while it trains.
void follow_training(QuantizeOptions& options, const QuantizeJob& job, ProgressBars& bars,
                     std::optional<PostponedInterrupt>& postponed, bool silent) {
  set_interrupt_advice("\nthe same command with --resume goes on from the last checkpoint");
  options.training = job.training();
  options.resume = job.resume;
  if (job.resume && !silent && !std::filesystem::exists(job.training() + "/checkpoint.safetensors"))
    std::cerr << "there is no checkpoint to resume from: training from the start\n";
  options.stop = [&postponed] {
    if (!postponed) postponed.emplace();
    return postponed->is_noted();
  };
  if (silent) return;
  const TrainOptions& train = *job.config.train;
  const auto say = [&bars](const std::string& line) {
    bars.clear_line();
    std::cerr << line << std::endl;
  };
  options.start_measured = [say, &train](double score) { say(start_line(score, train.metric)); };
  options.epoch_done = [say, &train](const TrainEpoch& epoch) { say(epoch_line(epoch, train.epochs, train.metric)); };
}

Quantized quantize_graph(const QuantizeJob& job, const Graph& graph, const JobDatasets& data,
                         const Processes& processes, const CommonOptions& common) {
  ProgressBars bars(common.silent(), (data.calib ? item_noun(*data.calib) : "item") + "s");
  QuantizeOptions options;
  options.processes = &processes;
  options.plan = job.plan;
  options.plan_name = job.plan_file;
  options.integer_eval = job.integer;
  options.stop_after = job.dry_run ? "plan" : job.stop_after;
  std::optional<PostponedInterrupt> postponed;
  options.before_stage = [&](const std::string& stage) {
    if (job.resume || !processes.is_first()) return;
    if (stage == "reconstruct") discard_units(job, common.silent());
    if (stage == "train") discard_training(job, common.silent());
  };
  options.after_stage = [&](const StageRecord& stage, const Graph& now) {
    postponed.reset();
    bars.end();
    after_stage(job, stage, now);
  };
  options.progress = [&](const std::string& what, std::int64_t done, std::int64_t total) {
    bars.show(what, done, total);
  };
  options.warned = [&](const std::string& warning) {
    bars.clear_line();
    std::cerr << "WARNING: " << in_flags(warning) << std::endl;
  };
  if (!job.config.method.name.empty() && !job.dry_run) follow_method(options, job, bars, common.silent());
  if (job.config.train && !job.dry_run) follow_training(options, job, bars, postponed, common.silent());
  QuantizeData sets;
  sets.train = data.train.get();
  sets.validation = data.validation.get();
  sets.calib = data.calib.get();
  sets.eval = data.eval.get();
  sets.profile = data.profile.get();
  try {
    return quantize(graph, sets, job.config, options);
  } catch (Interrupted& error) {
    error.add_context("the same command with --resume goes on from there");
    throw;
  }
}

void print_summary(const QuantizeJob& job, const QuantizeRecord& record, const std::optional<Deployment>& files) {
  std::cout << in_flags(summary_text(record)) << "written     " << job.model_file() << "\n            "
            << (record.plan ? "plan.yaml, record.json" : "record.json")
            << (job.report ? ", report.txt and report.html beside it\n" : " and report.txt beside it\n");
  if (record.reconstructed) std::cout << "\n" << units_table(*record.reconstructed);
  if (files) std::cout << in_flags(deployment_text(*files, job.deploy_folder()));
}

Json with_files(Json record, const QuantizeJob& job, const std::optional<Deployment>& files) {
  record["written"] = job.model_file();
  if (files) record["deployed"] = json_of(*files, job.deploy_folder());
  return record;
}

// Of sizes one: calibration and evaluation often have the same kind of pictures.
std::vector<std::string> doubts_about(const JobConfig& config, const Graph& graph) {
  std::vector<std::string> all = doubts_about_weights(config.model);
  for (const auto& spec : {config.data.calib, config.data.train, config.data.val, config.data.eval}) {
    const std::vector<std::string> doubts = spec ? doubts_about_size(*spec, graph) : std::vector<std::string>();
    all.insert(all.end(), doubts.begin(), doubts.end());
    if (!doubts.empty()) break;
  }
  return all;
}

void run_job(const QuantizeJob& job, const Processes& processes, const CommonOptions& common) {
  if (!job.dump_after.empty() && processes.is_first())
    std::filesystem::remove(job.file(dump_name(job.dump_after)));  // of an earlier run
  Graph graph;
  JobDatasets data;
  std::vector<FileHash> hashes;
  Stages stages(job.stop_after, [&](const StageRecord& stage) { after_stage(job, stage, graph); });
  stages.run("import", [&] {
    graph = load_model(job.config.model, job.import);
    check_is_float(graph);  // before the data, which may be of another model
    data = open_datasets(job, graph);
    if (processes.is_first()) hashes = hash_files(job.config);
  });
  const std::vector<std::string> doubts = doubts_about(job.config, graph);  // before hours of work
  if (processes.is_first())
    for (const std::string& doubt : doubts) std::cerr << "WARNING: " << doubt << "\n";
  Quantized result = quantize_graph(job, graph, data, processes, common);
  if (!processes.is_first()) return;
  QuantizeRecord& record = result.record;
  record.model = job.config.model;
  record.files = std::move(hashes);
  for (std::vector<std::string>* texts : {&record.warnings, &record.notes})
    for (std::string& text : *texts) text = in_flags(std::move(text));
  if (job.dry_run) return print_need(job, result, data.calib.get(), data.train.get(), common.json);
  record.warnings.insert(record.warnings.begin(), doubts.begin(), doubts.end());
  std::optional<Deployment> files;
  bool must_deploy = false;
  std::exception_ptr wrong;  // raised when all else is written
  if (job.deploy)
    stages.run("deploy", [&] {
      must_deploy = why_no_files(job.config.quant.platform).empty();
      files = deploy_graph(job, *data.calib, result.model, record, wrong);
    });
  record.stages.insert(record.stages.begin(), stages.records().front());
  if (stages.records().size() > 1) record.stages.push_back(stages.records().back());
  write_results(job, result, files, data.calib.get());
  // A deployment that the config names is the user's.
  if (files && !job.config.deploy.folder.empty()) write_deployment(*files, job.deploy_folder(), job.force);
  if (wrong) std::rethrow_exception(wrong);
  QUENCH_CHECK(files || !must_deploy, record.notes.back(), " (the calibrated model was written: ", job.model_file(),
               "; --no-deploy skips the target's files)");
  if (common.json) return print_json(with_files(json_of(record), job, files));
  print_summary(job, record, files);
}

}  // namespace

void add_quantize(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App& command =
      add_command(app, command_line, "quantize", "quantize a model: plan, calibrate, evaluate, write, report");
  command.alias("ptq");  // mmrazor's
  add_quantize_options(command, *arguments);
  command.callback([&command_line, arguments] {
    command_line.together = true;
    command_line.action = [&command_line, arguments] { run_quantizing(*arguments, command_line); };
  });
}

void run_quantizing(const QuantizeArguments& arguments, const CommandLine& command_line) {
  const ProcessPlace place = arguments.dry_run ? ProcessPlace() : command_line.place;
  if (arguments.dry_run && !command_line.place.is_first()) return;
  ProcessOptions options = process_options(command_line.place);
  if (arguments.trains) options.advice = "--resume goes on from the last checkpoint, with any number of processes";
  const Processes processes(place, options);  // first of all: an error of one stops the others
  QuantizeJob job = job_of(arguments);
  std::optional<FolderLock> lock;  // two jobs would mix their checkpoints, and one replace what the other writes
  if (!job.dry_run && place.is_first()) lock.emplace(job.config.output);
  check_earlier_results(job);
  processes.barrier();  // all have looked at the output folder before anyone writes
  job.place = place;
  job.device = job.config.calibration.device = device_for(job.device, place);
  run_job(job, processes, command_line.common);
}

}  // namespace quench
