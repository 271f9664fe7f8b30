// Running a model batch by batch, and MQBench's verbs: calibration by the caller's own loop.
#include <ATen/core/TensorBody.h>

#include <algorithm>

#include "calibrate/eager_prepare.h"
#include "calibrate/fit_biases.h"
#include "calibrate/observing.h"
#include "quench/engine.h"
#include "quench/pass.h"
#include "quench/prepare.h"

namespace quench {

// One executor for all batches (an engine for integers), made anew when the graph has changed or moved.
class ModelRun {
 public:
  std::optional<Observing> observing;  // between enable_calibration and enable_quantization

  void observe(QuantizedModel& model) {
    observing.emplace(model);
    executor_.reset();
  }
  void stop_observing() {
    observing.reset();
    executor_.reset();
  }
  Executor& executor_of(const Graph& graph) {
    if (executor_ && &executor_->graph() == &graph && revision_ == graph.revision()) return *executor_;
    executor_ = std::make_unique<Executor>(graph);
    revision_ = graph.revision();
    if (observing) observing->attach(*executor_);
    return *executor_;
  }
  Engine& engine_of(const Graph& graph) {
    if (engine_ && revision_ == graph.revision()) return *engine_;
    Graph fast = graph;
    run_passes(fast, engine_passes());
    engine_ = std::make_unique<Engine>(fast);
    revision_ = graph.revision();
    return *engine_;
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Executor> executor_;
  std::uint64_t revision_ = 0;
};

namespace {

ModelRun& run_of(QuantizedModel& model) {
  if (!model.kept_run) model.kept_run = std::make_shared<ModelRun>();
  return *model.kept_run;
}

bool is_wanted(const ObservedQuantizer& one, std::optional<Role> role) {
  return !role || one.algorithm->spec().role == *role;
}

// Constants are seen at once. Those that follow a leader never observe, and quantize when it has a scale (forward).
void watch(QuantizedModel& model, std::optional<Role> role, QuantFlags flags) {
  ModelRun& run = run_of(model);
  if (!run.observing) run.observe(model);
  run.observing->observe_constants(model.graph);
  for (const ObservedQuantizer& one : run.observing->quantizers()) {
    if (!is_wanted(one, role)) continue;
    if (one.from_data) {
      set_fake_quant_flags(*one.node, flags);
    } else {
      // One that is calibrated keeps its scale, which may have been raised for its bias since.
      if (flags.quantize && model.stage < ModelStage::kCalibrated) set_qparams(*one.node, one.observer->qparams());
      set_fake_quant_flags(*one.node, {.quantize = flags.quantize});
    }
  }
}

void only(QuantizedModel& model, std::optional<Role> role, QuantFlags flags) {
  disable_all(model);
  watch(model, role, flags);
}

}  // namespace

void enable_calibration(QuantizedModel& model) { only(model, std::nullopt, {.observe = true}); }

void enable_calibration_woquantization(QuantizedModel& model, Role role) { only(model, role, {.observe = true}); }

void enable_calibration_quantization(QuantizedModel& model, Role role) {
  only(model, role, {.observe = true, .quantize = true});
}

void enable_all(QuantizedModel& model) { only(model, std::nullopt, {.observe = true, .quantize = true}); }

void disable_all(QuantizedModel& model) { set_state(model.graph, std::nullopt, {}); }

void enable_quantization(QuantizedModel& model, bool weight_cali_on, bool act_cali_on) {
  ModelRun& run = run_of(model);
  if (run.observing) {
    run.observing->take_over(model);
    fit_biases(model);
  }
  set_state(model.graph, std::nullopt, {.quantize = true});
  if (weight_cali_on) watch(model, Role::kWeight, {.observe = true, .quantize = true});
  if (act_cali_on) watch(model, Role::kActivation, {.observe = true, .quantize = true});
  if (!weight_cali_on && !act_cali_on) run.stop_observing();
}

const Observer* observer_at_work(const QuantizedModel& model, const std::string& value) {
  if (!model.kept_run || !model.kept_run->observing) return nullptr;
  for (const ObservedQuantizer& one : model.kept_run->observing->quantizers())
    if (one.value().name() == value) return one.observer.get();
  return nullptr;
}

std::vector<RtValue> QuantizedModel::run(const std::vector<RtValue>& inputs) { return forward(*this, inputs); }

std::vector<RtValue> forward(QuantizedModel& model, const std::vector<RtValue>& inputs) {
  ModelRun& run = run_of(model);
  if (model.stage == ModelStage::kConverted) return run.engine_of(model.graph).run(inputs);
  std::vector<RtValue> outputs = run.executor_of(model.graph).run(inputs);
  if (run.observing) run.observing->switch_followers_on();
  return outputs;
}

}  // namespace quench
