// quench quantize: from a float model to a calibrated one, with plan, record and report.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "calibrate/float_run.h"
#include "calibrate/slice_size.h"
#include "cli/command.h"
#include "cli/load_model.h"
#include "cli/quantize_job.h"
#include "core/atomic_file.h"
#include "core/output_folder.h"
#include "core/progress.h"
#include "data/batch_size.h"
#include "graph/border.h"
#include "quench/deploy.h"
#include "quench/error.h"
#include "quench/export.h"
#include "quench/op.h"
#include "quench/platform.h"
#include "quench/prepare.h"
#include "quench/ptq.h"
#include "report/deploy_text.h"
#include "report/fallen_apart.h"
#include "report/plan_json.h"
#include "report/table.h"

namespace quench {
namespace {

struct JobDatasets {
  std::unique_ptr<Dataset> calib, eval, profile;
};

template <typename Body>
auto with_progress(const CommonOptions& common, const char* what, Body&& body) {
  Progress progress(std::cerr, progress_style(common.silent()), what, "images");
  return body([&](std::int64_t done, std::int64_t total) { progress.show(done, total); });
}

// A matrix of integers of 8 bits or fewer is a weight of codes: MatMulInteger's, MatMulNBits'.
bool has_codes(const Node& node) {
  for (const Value* input : node.inputs())
    if (input && input->is_constant() && is_integer(input->dtype()) && bits_of(input->dtype()) <= 8 &&
        input->rank() >= 2)
      return true;
  return false;
}

Graph load_float_model(const std::string& path, const ImportOptions& options) {
  Graph graph = load_model(path, options);
  for (const auto& node : graph.nodes())
    QUENCH_CHECK(!entry_of(*node).traits.quantizes && !has_codes(*node), "the model ", path, " is quantized already (",
                 node->where(), "): quantize the float model that it was made of. 'quench eval', 'run' and 'inspect' ",
                 "take it as it is, and 'quench verify' one with QuantizeLinear and DequantizeLinear nodes");
  return graph;
}

void note_widening(const Graph& graph, QuantizeRecord& record) {
  std::set<std::string> types;
  for (const Value* value : graph.values())
    if (is_narrow_float(value->dtype())) types.insert(name_of(value->dtype()));
  for (const std::string& type : types)
    record.notes.push_back("the model computes in " + type + ": widened to float32, with a Cast at inputs and outputs");
}

DatasetSpec limited(DatasetSpec spec, std::int64_t most) {
  const std::int64_t given = integer_option(spec, "limit", 1).value_or(most);
  if (most > 0) spec.options["limit"] = std::to_string(std::min(given, most));
  return spec;
}

JobDatasets open_datasets(const QuantizeJob& job, const Graph& graph) {
  const JobData& data = job.config.data;
  JobDatasets opened;
  if (data.calib) opened.calib = open_dataset(limited(*data.calib, job.config.calibration_samples), graph);
  if (data.calib && job.profile_images > 0)
    opened.profile = open_dataset(limited(*data.calib, job.profile_images), graph);
  if (data.eval) opened.eval = open_dataset(*data.eval, graph);
  return opened;
}

std::vector<FileHash> hash_files(const JobConfig& config) {
  std::vector<FileHash> files = {hash_file(config.model)};
  for (const auto& spec : {config.data.calib, config.data.eval}) {
    if (!spec) continue;
    for (FileHash& file : hash_data(*spec)) files.push_back(std::move(file));
  }
  return files;
}

void insert_plan(const QuantizeJob& job, const QuantPlan& plan, Graph& graph) {
  if (!job.plan) return insert_quantizers(graph, plan);
  with_context([&] { return concat("the plan ", job.plan_file, " does not fit the model ", job.config.model); },
               [&] {
                 check_plan(graph, plan);
                 insert_quantizers(graph, plan);
               });
}

// As calibration does it: what memory holds, whatever batch the user names, so that the result does not depend on it. A
// reference is re-created with its batches.
std::int64_t items_at_once(const QuantizeJob& job, const Graph& graph, const Dataset* data) {
  if (job.config.quant.parity || !data) return choose_batch(graph, data, job.batch);
  return slice_size(without_quantizers(graph), *data);
}

// A step that was asked for and did nothing says so.
void equalize_graph(const QuantizeJob& job, const Dataset* data, Graph& graph, QuantizeRecord& record) {
  EqualizeOptions options;
  options.data = data;
  options.batch = items_at_once(job, graph, data);
  record.equalized = equalize(graph, options);
  if (record.equalized->pairs.empty())
    record.notes.push_back(concat("equalize changed nothing: no pair of layers can be balanced",
                                  record.equalized->skipped.empty() ? "" : "; " + record.equalized->skipped.front()));
}

SmoothRecord smooth_graph(QuantPlan& plan, const Dataset& data, Graph& graph, const CommonOptions& common) {
  SmoothOptions options;
  return with_progress(common, "smoothing", [&](const auto& show) {
    options.progress = show;
    return smooth(graph, plan, data, options);
  });
}

void correct_graph(const QuantizeJob& job, const Dataset& data, Graph& graph, QuantizeRecord& record,
                   const CommonOptions& common) {
  BiasCorrectionOptions options;
  options.kind = *job.config.bias_correction;
  options.workers = job.workers;
  options.skip_broken = job.skip_broken;
  options.batch = items_at_once(job, graph, &data);
  record.corrected = with_progress(common, "correcting biases", [&](const auto& show) {
    options.progress = show;
    return correct_biases(graph, data, options);
  });
  if (!record.corrected->changed()) record.notes.emplace_back("bias correction changed nothing");
}

// On the model as imported: what was done to it on the way is part of the question.
AgreementRecord compare_with_float(const QuantizeJob& job, const Dataset& data, Graph plain, Graph quantized) {
  optimize_model(plain, job.device);
  optimize_model(quantized, job.device);
  AgreementOptions options;
  options.workers = job.workers;
  options.skip_broken = job.skip_broken;
  options.device = job.device;
  return agreement(plain, quantized, data, options);
}

CalibrationRecord calibrate_graph(const QuantizeJob& job, const Dataset& data, Graph& graph,
                                  const CommonOptions& common) {
  CalibrationOptions options = job.config.calibration;
  return with_progress(common, "calibrating", [&](const auto& show) {
    options.progress = show;
    return calibrate(graph, data, options);
  });
}

EvalResult evaluate_graph(const QuantizeJob& job, const Dataset& data, Graph graph, const CommonOptions& common,
                          const char* what) {
  optimize_model(graph, job.device);
  EvalOptions options;
  options.batch = job.batch;
  options.workers = job.workers;
  options.skip_broken = job.skip_broken;
  options.channels_last = true;
  options.device = job.device;
  return with_progress(common, what, [&](const auto& show) {
    options.progress = show;
    return evaluate(graph, data, options);
  });
}

bool is_smoothed(const QuantizeRecord& record) { return record.smoothed && record.smoothed->changed(); }

// Beside the model as it came: what equalization and bias correction did to it counts.
ProfileOptions profile_options(const QuantizeJob& job, const QuantizeRecord& record) {
  ProfileOptions options;
  options.workers = job.workers;
  options.skip_broken = job.skip_broken;
  options.device = job.device;
  if (record.equalized && !is_smoothed(record))
    for (const EqualizedPair& pair : record.equalized->pairs)
      for (const std::string& value : pair.between) options.scaled[value] = {pair.factors, pair.axis};
  return options;
}

ProfileRecord profile_graph(ProfileOptions options, const Dataset& data, const Graph& graph, const Graph& plain,
                            const CommonOptions& common) {
  return with_progress(common, "profiling", [&](const auto& show) {
    options.progress = show;
    return profile(graph, data, options, &plain);
  });
}

void warn(const QuantizeJob& job, QuantizeRecord& record) {
  const std::optional<std::string> warning = fallen_apart_warning(record, job.config);
  if (!warning) return;
  record.warnings.push_back(*warning);
  std::cerr << "WARNING: " << *warning << "\n";
}

std::string dump_name(const std::string& stage) { return concat("after_", stage, ".txt"); }

void after_stage(const QuantizeJob& job, const StageRecord& stage, const Graph& graph) {
  if (job.time)
    std::cerr << stage.name << ": " << stage.seconds << " s, peak memory " << size_text(stage.peak_bytes) << "\n";
  if (stage.name != job.dump_after || job.dry_run) return;
  std::filesystem::create_directories(job.config.output);
  write_file_atomically(job.file(dump_name(stage.name)), to_text(graph, {.data = false}));
}

void print_need(const QuantizeRecord& record, const Graph& graph, std::int64_t batch, bool json) {
  const ActivationNeed need = activation_need(graph, batch);
  if (json) {
    Json object = json_of(*record.plan);
    object["float_bytes"] = record.size->float_bytes;
    object["quantized_bytes"] = record.size->quantized_bytes;
    object["batch"] = batch;
    object["activation_bytes"] = need.peak_bytes;
    object["resident_bytes"] = resident_bytes();
    return print_json(object);
  }
  std::cout << plan_summary(*record.plan) << "weights     " << size_text(record.size->float_bytes) << " in float, "
            << size_text(record.size->quantized_bytes) << " quantized\n"
            << "memory      " << size_text(resident_bytes()) << " now, and about " << size_text(need.peak_bytes)
            << " for what is alive at once at batch " << batch;
  if (need.unknown > 0) std::cout << " (without " << need.unknown << " values of unknown shape)";
  std::cout << "\nnothing was written (--dry-run)\n";
}

// What a target's exporter refuses is no reason to lose the model: the report says that there are no files, and why.
std::optional<Deployment> deploy_graph(const QuantizeJob& job, const Dataset& data, const Graph& graph,
                                       QuantizeRecord& record, std::exception_ptr& wrong) {
  const DeployConfig& config = job.config.deploy;
  if (const std::string reason = why_no_files(job.config.quant.platform); !reason.empty()) {
    record.notes.push_back("not deployed: " + reason);
    return std::nullopt;
  }
  try {
    return deploy(graph, {"", job.deploy_name(), config.opset, config.exporter, &data});
  } catch (const Error& error) {
    record.notes.push_back("not deployed: " + error.message());
    return std::nullopt;
  } catch (
      const InternalError& error) {  // an export that does not compute what it should: ours, and said so at the end
    record.notes.push_back("not deployed: " + error.error().message());
    wrong = std::current_exception();
    return std::nullopt;
  }
}

const char* stage_of(const QuantizeRecord& record, const Graph& graph) {
  if (record.calibration) return "calibrated";
  return graph.metadata.contains("quench.plan") ? "inserted" : "float";
}

// All of it or nothing: what an earlier run left in the folder is gone then.
// The plan as it fits the float model: what smoothing moved is back where it was. That is the one to edit and feed
// back.
QuantPlan plan_of_float_model(const QuantizeRecord& record) {
  QuantPlan plan = *record.plan;
  if (!record.smoothed) return plan;
  for (const SmoothedTensor& one : record.smoothed->tensors) {
    if (!one.product) continue;
    std::erase_if(plan.skipped, [&](const PlanSkip& skip) { return skip.value == one.value; });
    for (PlanEntry& entry : plan.entries) {
      if (entry.value == one.quantized) entry.value = one.value;
      std::replace(entry.derived_from.begin(), entry.derived_from.end(), one.quantized, one.value);
    }
  }
  return plan;
}

void write_results(const QuantizeJob& job, Graph& graph, const QuantizeRecord& record,
                   const std::optional<Deployment>& files) {
  OutputFolder folder(job.config.output);
  for (const auto& [key, value] : job.config.metadata) graph.metadata[key] = value;
  graph.metadata["quench.format"] = "1";
  graph.metadata["quench.stage"] = stage_of(record, graph);
  graph.metadata["quench.record"] = provenance_of(record).dump();
  export_onnx(graph, folder.staged(job.name + ".quench.onnx"));
  if (record.plan) write_file_atomically(folder.staged("plan.yaml"), to_yaml(plan_of_float_model(record)));
  write_file_atomically(folder.staged("record.json"), json_of(record).dump(2) + "\n");
  write_file_atomically(folder.staged("report.txt"), report_text(record));
  if (const std::string dump = job.file(dump_name(job.dump_after)); std::filesystem::exists(dump))
    std::filesystem::rename(dump, folder.staged(dump_name(job.dump_after)));
  if (files && job.config.deploy.folder.empty()) write_deployment(*files, folder.staged("deploy"));
  folder.commit(job.force);
}

// The whole of post-training quantization, one call a stage.
void quantize(const QuantizeJob& job, const CommonOptions& common) {
  const QuantConfig& config = job.config.quant;
  QuantizeRecord record = record_of(job);
  Graph original, fused, graph;  // as imported; with its layers fused; as it stands
  JobDatasets data;
  Stages stages(job.stop_after, [&](const StageRecord& stage) { after_stage(job, stage, graph); });
  stages.run("import", [&] {
    graph = original = load_float_model(job.config.model, job.import);
    data = open_datasets(job, graph);
    record.files = hash_files(job.config);
  });
  stages.run("fuse", [&] {
    note_widening(graph, record);
    fuse_for_quantizing(graph, config, NormMode::kFold);
    fused = graph;
  });
  if (job.config.equalize.value_or(false))
    stages.run("equalize", [&] { equalize_graph(job, data.calib.get(), graph, record); });
  stages.run("plan", [&] {
    record.plan = job.plan ? *job.plan : make_plan(graph, config);
    record.size = weight_size(graph, *record.plan);
  });
  if (job.config.smooth.value_or(false) && data.calib && !job.dry_run)
    stages.run("smooth", [&] {
      record.smoothed = smooth_graph(*record.plan, *data.calib, graph, common);
      if (!record.smoothed->undone.empty()) record.notes.push_back(record.smoothed->undone);
      if (is_smoothed(record)) fused = graph;  // its tensors have other scales now: they are the ones to compare with
    });
  if (job.dry_run) return print_need(record, graph, items_at_once(job, graph, data.calib.get()), common.json);
  stages.run("insert", [&] { insert_plan(job, *record.plan, graph); });
  stages.run("calibrate", [&] {
    record.calibration = calibrate_graph(job, *data.calib, graph, common);
    for (const std::string& note : record.calibration->notes) record.notes.push_back(note);
    record.plan = plan_from_yaml(graph.metadata.at("quench.plan"));  // with the scales that were raised
  });
  if (job.config.bias_correction.value_or(BiasCorrection::kNone) != BiasCorrection::kNone)
    stages.run("correct_biases", [&] { correct_graph(job, *data.calib, graph, record, common); });
  stages.run("compare", [&] { record.agreement = compare_with_float(job, *data.calib, original, graph); });
  if (data.eval)
    stages.run("evaluate", [&] {
      record.float_eval = evaluate_graph(job, *data.eval, original, common, "evaluating float");
      record.quantized_eval = evaluate_graph(job, *data.eval, graph, common, "evaluating quantized");
    });
  if (data.profile)
    stages.run("profile", [&] {
      record.profile = profile_graph(profile_options(job, record), *data.profile, graph, fused, common);
    });
  warn(job, record);
  std::optional<Deployment> files;
  bool must_deploy = false;
  std::exception_ptr wrong;  // raised when all else is written
  if (job.deploy)
    stages.run("deploy", [&] {
      must_deploy = why_no_files(config.platform).empty();
      files = deploy_graph(job, *data.calib, graph, record, wrong);
    });
  record.stages = stages.records();
  write_results(job, graph, record, files);
  // One that the config names is the user's.
  if (files && !job.config.deploy.folder.empty()) write_deployment(*files, job.deploy_folder(), job.force);
  if (wrong) std::rethrow_exception(wrong);
  QUENCH_CHECK(files || !must_deploy, record.notes.back(), " (the calibrated model was written: ", job.model_file(),
               "; --no-deploy leaves the target's files out)");
  if (common.json) return print_json(json_of(record));
  std::cout << summary_text(record) << "written     " << job.model_file() << "\n            "
            << "plan.yaml, record.json and report.txt beside it\n";
  if (files) std::cout << deployment_text(*files, job.deploy_folder());
}

}  // namespace

void add_quantize(CLI::App& app, CommandLine& command_line) {
  auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App& command =
      add_command(app, command_line, "quantize", "quantize a model: plan, calibrate, evaluate, write, report");
  command.alias("ptq");  // mmrazor's
  add_quantize_options(command, *arguments);
  command.callback([&command_line, arguments] {
    command_line.action = [&command_line, arguments] { quantize(job_of(*arguments), command_line.common); };
  });
}

}  // namespace quench
