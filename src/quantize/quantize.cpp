#include "quench/quantize.h"

#include <algorithm>

#include "config/unused_keys.h"
#include "measure/declared_fit.h"
#include "qat/loss.h"
#include "qat/training_notes.h"
#include "qat/validate.h"
#include "quantize/fallen_apart.h"
#include "quantize/preserve.h"
#include "quantize/reconstruct_units.h"
#include "quantize/record_data.h"
#include "quantize/same_job.h"
#include "quantize/stages.h"
#include "quantize/train_defaults.h"
#include "quench/convert.h"
#include "quench/distributed.h"
#include "quench/engine.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/op.h"
#include "quench/open_model.h"
#include "quench/pass.h"
#include "quench/platform.h"
#include "quench/prepare.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

// A matrix of integers of 8 bits or fewer is a weight of codes: MatMulInteger's, MatMulNBits'.
bool has_codes(const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Value* one) {
    return one && one->is_constant() && is_integer(one->dtype()) && bits_of(one->dtype()) <= 8 && one->rank() >= 2;
  });
}

// A model in which every tensor stays float is a user's mistake: the wrong platform, or a type that no target takes.
void check_quantizes(const Graph& graph, const QuantPlan& plan) {
  if (!plan.entries.empty()) return;
  for (const Value* input : graph.inputs())
    QUENCH_CHECK(input->dtype() != DType::kDouble, "there is nothing to quantize: its input '", input->name(),
                 "' is double, and only float32 and float16 are quantized; export it in float32");
  std::string why;
  for (std::size_t i = 0; i < std::min<std::size_t>(plan.skipped.size(), 3); ++i)
    why += concat(i == 0 ? ": " : "; ", "'", plan.skipped[i].value, "' ", plan.skipped[i].reason);
  fail("there is nothing to quantize in this model for platform '", plan.platform, "'", why);
}

// One call per stage; each works on what the previous one left.
class Quantizing {
 public:
  Quantizing(const Graph& graph, const QuantizeData& data, const JobConfig& config, const QuantizeOptions& options)
      : data_(data),
        config_(with_platform_defaults(config)),
        options_(options),
        stages_(
            options.stop_after,
            [this](const StageRecord& stage) {
              if (options_.after_stage) options_.after_stage(stage, model_.graph);
            },
            options.before_stage),
        original_(graph) {
    QUENCH_CHECK(!config.quant.platform.empty(), "no platform: give one ('quench list platforms' shows them)");
    refuse_unbuilt(config, JobStage::kQuantize);
    QUENCH_CHECK(config.method.name.empty() || !are_several(), "the method '", config.method.name,
                 "' learns in one process: quantize with it in one, or without it in several");
    check_is_float(original_);
    check_same_job(original_, data_, config, options_);
    preserve_metadata(original_, config_);
    run_passes(original_, cleanup_passes());
    check_training();
    check_metrics();
    model_.graph = config_.train ? original_.clone() : original_;  // training writes into the tensors
    begin_record();
  }

  Quantized run() && {
    stages_.run("fuse", [&] { fuse(); });
    if (config_.equalize.value_or(false)) stages_.run("equalize", [&] { equalize_layers(); });
    stages_.run("plan", [&] { plan(); });
    if (config_.smooth.value_or(false) && data_.calib) stages_.run("smooth", [&] { smooth_tensors(); });
    stages_.run("insert", [&] { insert(); });
    if (!finds_scales()) stages_.run("calibrate", [&] { calibrate_quantizers(); });
    if (config_.bias_correction.value_or(BiasCorrection::kNone) != BiasCorrection::kNone)
      stages_.run("correct_biases", [&] { correct(); });
    if (!config_.method.name.empty())
      stages_.run("reconstruct", [&] {
        record_.reconstructed = reconstruct_units(model_, *data_.calib, config_, options_, record_.notes);
      });
    if (config_.train) stages_.run("train", [&] { train_model(); });
    if (is_first()) stages_.run("compare", [&] { compare(); });
    if (data_.eval) stages_.run("evaluate", [&] { evaluate_both(); });
    if (data_.profile && is_first()) stages_.run("profile", [&] { profile_layers(); });
    if (const auto warning = fallen_apart_warning(record_, config_)) warn(*warning);
    record_.stages = stages_.records();
    if (model_.stage >= ModelStage::kCalibrated) verify(model_, model_.stage);
    return {std::move(model_), std::move(record_)};
  }

 private:
  std::function<void(std::int64_t, std::int64_t)> progress(const std::string& what) const {
    if (!options_.progress) return {};
    return [this, what](std::int64_t done, std::int64_t total) { options_.progress(what, done, total); };
  }

  void check_training() const {
    if (!config_.train) return;
    QUENCH_CHECK(config_.method.name.empty(), "a job either trains or reconstructs: remove 'train' or 'method'");
    QUENCH_CHECK(!config_.equalize.value_or(false) && !config_.smooth.value_or(false) &&
                     config_.bias_correction.value_or(BiasCorrection::kNone) == BiasCorrection::kNone,
                 "equalize, smooth and bias_correction are for post-training quantization; training does their work");
    QUENCH_CHECK(!config_.calibration.skip_broken,
                 "broken items cannot be skipped in training: the order of batches would depend on them; remove them "
                 "from the data");
    QUENCH_CHECK(data_.train || !stages_.reaches("train"), "no data to train on");
    if (data_.train) check_trainable(original_, *data_.train, *config_.train);
    if (data_.validation) check_validates(original_, *data_.validation, *config_.train);
    if (data_.train && !original_.outputs().empty()) check_labels(original_, *original_.outputs()[0], *data_.train);
  }

  void check_metrics() const {
    if (data_.eval) check_evaluates(original_, *data_.eval, eval_options());
  }

  void begin_record() {
    record_.model = original_.source.path;
    record_.seed = config_.seed;
    record_.device = config_.calibration.device;
    record_.notes = config_.notes;
    record_data(data_, original_, record_);
    for (const std::string& doubt : record_.warnings) say(doubt);
    for (std::string& unused : unused_keys(config_)) note(std::move(unused));
    JobConfig config = config_;
    config.output.clear();  // where the files go does not affect their content
    record_.config = to_yaml(config);
  }

  bool are_several() const { return options_.processes && options_.processes->are_several(); }
  bool is_first() const { return !options_.processes || options_.processes->is_first(); }
  // All must agree on what they do together.
  bool first_says(bool yes) const {
    return options_.processes ? !options_.processes->broadcast(std::string(yes ? "yes" : "")).empty() : yes;
  }

  void say(const std::string& warning) const {
    if (options_.warned && is_first()) options_.warned(warning);
  }
  void warn(const std::string& text) {
    record_.warnings.push_back(text);
    say(text);
  }
  void note(std::string text) { record_.notes.push_back(std::move(text)); }

  // Where a reference is re-created, with its batches; else every stage takes what memory holds, whatever batch the
  // user names, so that the result does not depend on it.
  std::int64_t batch() const { return config_.quant.parity ? config_.calibration.batch : 0; }

  void fuse() {
    for (std::string& text : widening_notes(model_.graph)) note(std::move(text));
    fuse_for_quantizing(model_.graph, config_.quant, config_.train ? NormMode::kLive : NormMode::kFold);
    fused_ = model_.graph;
  }

  // A step that was asked for but did nothing says so.
  void equalize_layers() {
    EqualizeOptions options;
    options.data = data_.calib;
    options.batch = batch();
    const EqualizeRecord& done = record_.equalized.emplace(equalize(model_.graph, options));
    if (done.pairs.empty())
      note(concat("equalize changed nothing: no pair of layers can be balanced",
                  done.skipped.empty() ? "" : "; " + done.skipped.front()));
  }

  void plan() {
    if (options_.plan)
      QUENCH_CHECK(platform_name(options_.plan->platform) == platform_name(config_.quant.platform), "the plan ",
                   options_.plan_name, " is for platform '", options_.plan->platform, "', not for '",
                   config_.quant.platform, "'");
    if (options_.plan)
      with_context([&] { return concat("the plan ", options_.plan_name, " does not fit the model ", record_.model); },
                   [&] { check_plan(model_.graph, *options_.plan); });
    model_.plan = options_.plan ? *options_.plan : make_plan(model_.graph, config_);
    if (options_.plan) list_removed_entries(model_.graph, config_.quant, model_.plan);
    check_quantizes(model_.graph, model_.plan);
    for (std::string& text : float_kernel_notes(model_.plan)) note(std::move(text));
    if (!config_.method.name.empty()) units_of_method(model_.graph, config_.method.name, config_.method.options);
    record_.plan = model_.plan;
    record_.size = weight_size(model_.graph, model_.plan);
  }

  void smooth_tensors() {
    SmoothOptions options;
    options.progress = progress("smoothing");
    record_.smoothed = smooth(model_.graph, model_.plan, *data_.calib, options);
    record_.plan = model_.plan;
    if (!record_.smoothed->undone.empty()) note(record_.smoothed->undone);
    if (is_smoothed()) fused_ = model_.graph;  // its tensors have other scales now: they are the ones to compare with
  }
  bool is_smoothed() const { return record_.smoothed && record_.smoothed->changed(); }

  void insert() {
    model_ = insert_quantizers(model_.graph, model_.plan);
    if (config_.train) make_norms_live(model_, config_.quant);
    check_checkpoint();
  }

  // On all of the data, in batches of calibration's size.
  bool corrects_fast() const {
    return config_.bias_correction == BiasCorrection::kFast && !config_.quant.parity &&
           stages_.reaches("correct_biases");
  }

  void calibrate_quantizers() {
    QUENCH_CHECK(data_.calib, "no data to calibrate on");
    CalibrationOptions options = config_.calibration;
    options.progress = progress("calibrating");
    options.processes = options_.processes;
    if (corrects_fast()) seen_ = bias_correction_watcher(model_);
    options.watcher = seen_.get();
    record_.calibration = calibrate(model_, *data_.calib, options);
    if (!record_.calibration->watched) seen_.reset();
    for (const std::string& text : record_.calibration->notes) note(text);
    record_.plan = model_.plan;  // with the scales that were raised
  }

  void correct() {
    BiasCorrectionOptions options;
    options.kind = *config_.bias_correction;
    options.workers = config_.calibration.workers;
    options.skip_broken = config_.calibration.skip_broken;
    options.batch = batch();
    options.seen = seen_.get();
    options.progress = progress("correcting biases");
    record_.corrected = correct_biases(model_, *data_.calib, options);
    seen_.reset();
    record_.plan = model_.plan;  // with the biases that were made
    if (!record_.corrected->changed()) note("bias correction changed nothing");
  }

  // Loops that observe while they train begin without scales.
  bool finds_scales() const {
    return config_.train && TrainLoopRegistry::instance().get(config_.train->loop).make()->finds_scales();
  }

  const Graph* teacher() const { return config_.train->distill.weight > 0 ? &original_ : nullptr; }

  // Before calibration: an hour of it would be for nothing if the checkpoint is of another job.
  void check_checkpoint() const {
    if (!config_.train || !options_.resume || !stages_.reaches("train")) return;
    check_resumes(model_, {*data_.train, data_.validation}, train_options(config_, options_, original_), teacher());
  }

  // Its BatchNorms end folded: the model is what will be deployed.
  void train_model() {
    const TrainOptions options = train_options(config_, options_, original_);
    record_.trained = train(model_, {*data_.train, data_.validation}, options, teacher());
    run_passes(model_.graph, {"fold_live_norms", "eliminate_dead", "infer_shapes"});
    for (const std::string& text : record_.trained->notes) note(text);
    if (const std::string text = worse_warning(*record_.trained, options); !text.empty()) warn(text);
    if (std::string text = dropout_note(original_, model_.graph); !text.empty()) note(std::move(text));
    fused_ = without_quantizers(model_.graph);  // the float network that it has become
    record_.plan = model_.plan;
  }

  // With the model as imported: what was done to it on the way counts too.
  void compare() {
    AgreementOptions options;
    options.workers = config_.calibration.workers;
    options.skip_broken = config_.calibration.skip_broken;
    options.device = config_.calibration.device;
    const Dataset* data = data_.calib ? data_.calib : data_.train;  // of loops that find scales themselves
    record_.agreement = agreement(original_, model_.graph, *data, options);
  }

  EvalOptions eval_options() const {
    EvalOptions options;
    options.metrics = config_.metrics;
    options.reference = &original_;
    options.batch = config_.calibration.batch;
    options.workers = config_.calibration.workers;
    options.skip_broken = config_.calibration.skip_broken;
    options.optimize = true;
    options.device = config_.calibration.device;
    options.processes = options_.processes;
    return options;
  }
  EvalResult evaluated(const Graph& graph, const char* what) const {
    EvalOptions options = eval_options();
    options.progress = progress(what);
    return evaluate(graph, *data_.eval, options);
  }
  void evaluate_both() {
    record_.float_eval = evaluated(original_, "evaluating float");
    record_.quantized_eval = evaluated(model_.graph, "evaluating quantized");
    record_.changes = metric_changes(*record_.float_eval, *record_.quantized_eval);
    if (first_says(options_.integer_eval.value_or(has_engine_kernels()))) evaluate_integers();
  }

  void evaluate_integers() {
    std::optional<Graph> integers;
    unless_in_the_way([&] {
      Graph converted = convert(model_).graph;
      run_passes(converted, engine_passes());
      if (options_.integer_eval || has_integer_kernels(converted)) integers = std::move(converted);
    });
    if (!first_says(integers.has_value())) return;
    QUENCH_CHECK(integers, "the first process can evaluate in integers, this one cannot: evaluate without them");
    if (are_several())  // an error of one must stop all
      record_.integer_eval = evaluated(*integers, "evaluating integers");
    else
      unless_in_the_way([&] { record_.integer_eval = evaluated(*integers, "evaluating integers"); });
  }
  // What nobody asked for must not be in the way.
  void unless_in_the_way(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      if (options_.integer_eval) throw;
      note(concat("accuracy in integers was not measured: ", error.what()));
    }
  }

  // Against the original model: what equalization and bias correction did to it counts.
  void profile_layers() {
    ProfileOptions options;
    options.workers = config_.calibration.workers;
    options.skip_broken = config_.calibration.skip_broken;
    options.device = config_.calibration.device;
    options.progress = progress("profiling");
    if (record_.equalized && !is_smoothed())
      for (const EqualizedPair& pair : record_.equalized->pairs)
        for (const std::string& value : pair.between) options.scaled[value] = {pair.factors, pair.axis};
    record_.profile = profile(model_, *data_.profile, options, &fused_);
  }

  const QuantizeData data_;
  const JobConfig config_;
  const QuantizeOptions& options_;
  Stages stages_;
  Graph original_, fused_;              // as imported; with its layers fused
  QuantizedModel model_;                // at the current stage
  std::unique_ptr<FloatWatcher> seen_;  // what calibration showed to the correction of biases
  QuantizeRecord record_;
};

JobConfig job_of(const QuantConfig& config) {
  JobConfig job;
  job.quant = config;
  return job;
}

}  // namespace

void check_is_float(const Graph& graph) {
  for (const auto& node : graph.nodes())
    QUENCH_CHECK(!entry_of(*node).traits.quantizes && !has_codes(*node), "the model ", graph.source.path,
                 " is already quantized (", node->where(), "): quantize the float model it was made from. 'quench ",
                 "eval', 'run' and 'inspect' take it as is, and 'quench verify' one with QuantizeLinear and ",
                 "DequantizeLinear nodes");
}

Quantized quantize(const Graph& graph, const QuantizeData& data, const JobConfig& config,
                   const QuantizeOptions& options) {
  return Quantizing(graph, data, config, options).run();
}

Quantized quantize(const Graph& graph, const QuantizeData& data, const QuantConfig& config,
                   const QuantizeOptions& options) {
  return quantize(graph, data, job_of(config), options);
}

Quantized quantize(const std::string& file, const QuantizeData& data, const JobConfig& config,
                   const QuantizeOptions& options) {
  ImportOptions reading;
  for (const std::string& shape : config.input_shapes) reading.inputs.push_back(parse_input_shape(shape));
  return quantize(open_model(file, reading), data, config, options);
}

Quantized quantize(const std::string& file, const QuantizeData& data, const QuantConfig& config,
                   const QuantizeOptions& options) {
  return quantize(open_model(file), data, job_of(config), options);
}

Quantized quantize(const std::string& file, const std::string& calib, const QuantConfig& config,
                   const QuantizeOptions& options) {
  const Graph graph = open_model(file);
  return quantize(graph, *open_dataset(calib, graph), config, options);
}

}  // namespace quench
