// QuantizedModel: a network with its quantizers in place, the plan that they follow, and how far it has come.
#pragma once

#include <memory>
#include <string>

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

class ModelObservers;  // of a model that is calibrated by the caller's own loop: quench/prepare.h

struct QuantizedModel {
  Graph graph;
  QuantPlan plan;
  ModelStage stage = ModelStage::kPrepared;

  QuantizedModel() = default;
  QuantizedModel(Graph graph, QuantPlan plan, ModelStage stage = ModelStage::kPrepared);
  // A copy shares tensors with the original, as graphs do, and has no observers.
  QuantizedModel(const QuantizedModel& other);
  QuantizedModel& operator=(const QuantizedModel& other);
  QuantizedModel(QuantizedModel&&) noexcept = default;
  QuantizedModel& operator=(QuantizedModel&&) noexcept = default;

  // The entry of the plan for a quantizer; null if the plan has none (a model from another tool).
  const PlanEntry* entry_of(const Node& quantizer) const;

  std::shared_ptr<ModelObservers> observers;  // between enable_calibration and enable_quantization
};

// Throws unless the model is what `stage` promises: every entry of the plan has its quantizer and no quantizer is
// without an entry; from kCalibrated on, all have scales. Names what is wrong.
void verify(const QuantizedModel& model, ModelStage stage);
// The same for a graph alone: throws for quantizers that were never calibrated, naming them.
void check_calibrated(const Graph& graph);

// In files, plan and stage are texts in the graph's metadata. A graph that has no quantizers yet is float, whatever
// was planned.
Graph with_plan_text(const QuantizedModel& model);
bool holds_plan(const Graph& file);
void drop_plan_text(Graph& file);  // of a file that has no quantizers any more
// Throws if the file holds no plan: it was not written by quench.
QuantizedModel quantized_model_of(Graph file);

}  // namespace quench
