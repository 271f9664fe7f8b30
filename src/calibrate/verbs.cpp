// MQBench's verbs: calibration by the caller's own loop.
#include <ATen/core/TensorBody.h>

#include "calibrate/fit_biases.h"
#include "calibrate/observing.h"
#include "quench/prepare.h"

namespace quench {

class ModelObservers {
 public:
  explicit ModelObservers(Graph& graph) : observing(graph) {}
  Observing observing;
};

namespace {

bool is_wanted(const ObservedQuantizer& one, std::optional<Role> role) {
  return !role || one.algorithm->spec().role == *role;
}

// Constants are seen at once. Those that follow a leader never observe, and quantize when it has a scale (forward).
void watch(QuantizedModel& model, std::optional<Role> role, QuantFlags flags) {
  if (!model.observers) model.observers = std::make_shared<ModelObservers>(model.graph);
  Observing& observing = model.observers->observing;
  observing.observe_constants(model.graph);
  for (const ObservedQuantizer& one : observing.quantizers()) {
    if (!is_wanted(one, role)) continue;
    if (one.from_data) {
      set_fake_quant_flags(*one.node, flags);
    } else {
      // One that is calibrated keeps its scale, which may have been raised for its bias since.
      if (flags.quantize && !is_calibrated(*one.node))
        one.algorithm->accept(one.observer->qparams(), fake_quant_tensors(*one.node));
      set_fake_quant_flags(*one.node, {.quantize = flags.quantize});
    }
  }
}

void only(QuantizedModel& model, std::optional<Role> role, QuantFlags flags) {
  disable_all(model);
  watch(model, role, flags);
}

// A leader's scale is known after the first batch that it observed and quantized.
void switch_followers_on(Graph& graph) {
  for (Node* node : quantizers_of(graph)) {
    if (!follows(*node)) continue;
    const Node* leader = quantizer_of(graph, leader_of(*node));
    if (leader && fake_quant_flags(*leader).quantize) set_fake_quant_flags(*node, {.quantize = true});
  }
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
  if (model.observers) {
    model.observers->observing.take_over(model.graph);
    fit_biases(model);
    model.stage = std::max(model.stage, ModelStage::kCalibrated);
  }
  set_state(model.graph, std::nullopt, {.quantize = true});
  if (weight_cali_on) watch(model, Role::kWeight, {.observe = true, .quantize = true});
  if (act_cali_on) watch(model, Role::kActivation, {.observe = true, .quantize = true});
  if (!weight_cali_on && !act_cali_on) model.observers.reset();
}

std::vector<RtValue> forward(QuantizedModel& model, const std::vector<RtValue>& inputs) {
  Executor executor(model.graph);
  if (model.observers) model.observers->observing.attach(executor);
  std::vector<RtValue> outputs = executor.run(inputs);
  if (model.observers) switch_followers_on(model.graph);
  return outputs;
}

}  // namespace quench
