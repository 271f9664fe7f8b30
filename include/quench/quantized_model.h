// QuantizedModel: a network with its quantizers in place, the plan that they follow, and how far it has come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"
#include "quench/quantizers.h"

namespace quench {

enum class ModelStage : std::uint8_t {
  kPrepared,       // quantizers in place, without scales
  kCalibrated,     // every quantizer has a scale
  kReconstructed,  // and the rounding of its weights was learned
  kTrained,        // or all of it was trained
  kConverted,      // integer operators instead of quantizers
};
const char* name_of(ModelStage stage);  // "prepared", "calibrated" ...
ModelStage model_stage_from_name(const std::string& name);

class ModelRun;  // what run() keeps from call to call
class RtValue;

struct QuantizedModel {
  Graph graph;
  QuantPlan plan;
  ModelStage stage = ModelStage::kPrepared;

  QuantizedModel() = default;
  QuantizedModel(Graph graph, QuantPlan plan, ModelStage stage = ModelStage::kPrepared);
  // A copy shares tensors with the original, as graphs do, and has no run.
  QuantizedModel(const QuantizedModel& other);
  QuantizedModel& operator=(const QuantizedModel& other);
  QuantizedModel(QuantizedModel&&) noexcept = default;
  QuantizedModel& operator=(QuantizedModel&&) noexcept = default;

  // The entry of the plan for a quantizer; null if the plan has none.
  const PlanEntry* entry_of(const Node& quantizer) const;

  // All graph inputs in order -> all outputs in order: the simulation, or the integers of a converted model, in the
  // engine. (MQBench's verbs say forward(): quench/prepare.h.)
  std::vector<RtValue> run(const std::vector<RtValue>& inputs);

  std::shared_ptr<ModelRun> kept_run;
};

// One that leads has a scale of its own; one that follows has the constants of its leader. Null if it leads.
Node* leader_of(const QuantizedModel& model, const Node& quantizer);
// The observer that the plan names for it, fresh; null where it keeps the scale that it came with.
std::unique_ptr<Observer> observer_of(const QuantizedModel& model, const Node& quantizer);

// Throws unless the model is what `stage` promises: every entry of the plan has the quantizer that it describes and no
// quantizer is without an entry; those that share have the same constants; from kCalibrated on there are quantizers,
// and their scales make sense. Names what is wrong. Every stage calls it on what it is given.
void verify(const QuantizedModel& model, ModelStage stage);

// In files, plan and stage are texts in the graph's metadata: export_onnx(with_plan_text(model), "NAME.quench.onnx")
// writes one, quantized_model_of(open_model("NAME.quench.onnx")) reads it. A graph that has no quantizers yet is float,
// whatever was planned.
Graph with_plan_text(const QuantizedModel& model);
bool holds_plan(const Graph& file);
bool is_converted(const Graph& file);  // what convert() made, as its stage says
QuantPlan plan_in(const Graph& file);  // throws if it holds none: not written by quench, or converted
void drop_plan_text(Graph& file);      // of a file that has no quantizers any more
// A model as 'quench quantize' wrote it, verified.
QuantizedModel quantized_model_of(Graph file);

}  // namespace quench
