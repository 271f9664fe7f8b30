#include "quench/quantized_model.h"

#include <array>
#include <set>

#include "quantized/spelling.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::array<const char*, 5> kStages = {"prepared", "calibrated", "reconstructed", "trained", "converted"};

// Of entries that have a quantizer of their own in the graph; biases in int32 have one of another kind.
void check_entries(const QuantizedModel& model) {
  std::set<const Node*> planned;
  for (const PlanEntry& entry : model.plan.entries) {
    if (!entry.derived_from.empty()) continue;
    const Node* node = quantizer_of(model.graph, entry.value);
    planned.insert(node);
    QUENCH_CHECK(node, "the plan quantizes '", entry.value, "', but the graph has no quantizer there");
  }
  for (const Node* node : quantizers_of(model.graph))
    QUENCH_CHECK(planned.contains(node), node->where(), " quantizes '", node->input(0)->name(),
                 "', which the plan does not mention");
}

}  // namespace

const char* name_of(ModelStage stage) { return kStages.at(static_cast<std::size_t>(stage)); }

ModelStage model_stage_from_name(const std::string& name) {
  for (std::size_t i = 0; i < kStages.size(); ++i)
    if (kStages[i] == name) return static_cast<ModelStage>(i);
  fail("'", name, "' is not a stage of a quantized model: prepared, calibrated, reconstructed, trained, converted");
}

QuantizedModel::QuantizedModel(Graph the_graph, QuantPlan the_plan, ModelStage the_stage)
    : graph(std::move(the_graph)), plan(std::move(the_plan)), stage(the_stage) {}

QuantizedModel::QuantizedModel(const QuantizedModel& other)
    : graph(other.graph), plan(other.plan), stage(other.stage) {}

QuantizedModel& QuantizedModel::operator=(const QuantizedModel& other) {
  return *this = QuantizedModel(other);  // the moving one
}

const PlanEntry* QuantizedModel::entry_of(const Node& quantizer) const { return plan.find(quantizer.input(0)->name()); }

void verify(const QuantizedModel& model, ModelStage stage) {
  model.graph.verify();
  QUENCH_CHECK(model.stage >= stage, "the model is ", name_of(model.stage), ", not ", name_of(stage));
  if (stage == ModelStage::kConverted) return;
  check_entries(model);
  if (stage >= ModelStage::kCalibrated) check_calibrated(model.graph);
}

void check_calibrated(const Graph& graph) {
  std::string names;
  for (const Node* node : quantizers_of(graph))
    if (!is_calibrated(*node)) names += concat(names.empty() ? "'" : ", '", node->input(0)->name(), "'");
  QUENCH_CHECK(names.empty(), "never calibrated: the quantizers of ", names, "; run calibrate() first");
}

Graph with_plan_text(const QuantizedModel& model) {
  Graph file(model.graph);
  const bool is_float = quantizers_of(file).empty() && model.stage != ModelStage::kConverted;
  file.metadata[kStageKey] = is_float ? "float" : name_of(model.stage);
  if (!is_float) file.metadata[kPlanKey] = to_yaml(model.plan);
  return file;
}

bool holds_plan(const Graph& file) { return file.metadata.contains(kPlanKey); }

void drop_plan_text(Graph& file) {
  file.metadata.erase(kPlanKey);
  file.metadata.erase(kStageKey);
}

QuantizedModel quantized_model_of(Graph file) {
  const auto text = file.metadata.find(kPlanKey);
  QUENCH_CHECK(text != file.metadata.end(),
               "the model carries no plan: 'quench quantize' on the float model makes one (files that another tool "
               "quantized are run, not deployed)");
  QuantPlan plan =
      plan_from_yaml(text->second, "inside " + (file.source.path.empty() ? "the model" : file.source.path));
  ModelStage stage = ModelStage::kCalibrated;
  for (const Node* node : quantizers_of(file))
    if (!is_calibrated(*node)) stage = ModelStage::kPrepared;
  if (const auto name = file.metadata.find(kStageKey); name != file.metadata.end() && stage != ModelStage::kPrepared)
    for (const char* known : kStages)
      if (name->second == known) stage = model_stage_from_name(known);
  drop_plan_text(file);
  return {std::move(file), std::move(plan), stage};
}

}  // namespace quench
