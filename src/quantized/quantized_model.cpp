#include "quench/quantized_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <set>

#include "plugin/recorded_plugins.h"
#include "quantized/spelling.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::array<const char*, 5> kStages = {"prepared", "calibrated", "reconstructed", "trained", "converted"};

void check_entry(const QuantizedModel& model, const PlanEntry& entry, const Node& node) {
  const FakeQuantSpec wanted = fake_quant_spec(entry, model.plan.by), found = fake_quant_spec(node);
  QUENCH_CHECK(found.scheme == wanted.scheme && found.role == wanted.role && found.algorithm == wanted.algorithm,
               node.where(), " is '", found.scheme.text(), "' (", found.algorithm, ", ", name_of(found.role),
               "), but the plan says '", wanted.scheme.text(), "' (", wanted.algorithm, ", ", name_of(wanted.role),
               ")");
  if (entry.shared_with.empty()) return;
  const Node* leader = quantizer_of(model.graph, entry.shared_with);
  QUENCH_CHECK(leader && leader->input(1) == node.input(1), node.where(), " is to share the scale of '",
               entry.shared_with, "', but has one of its own");
}

// Of entries that have a quantizer of their own in the graph; biases in int32 have one of another kind.
void check_entries(const QuantizedModel& model) {
  std::set<const Node*> planned;
  for (const PlanEntry& entry : model.plan.entries) {
    if (!entry.derived_from.empty()) continue;
    const Node* node = quantizer_of(model.graph, entry.value);
    QUENCH_CHECK(node, "the plan quantizes '", entry.value, "', but the graph has no quantizer there");
    planned.insert(node);
    check_entry(model, entry, *node);
  }
  for (const Node* node : quantizers_of(model.graph))
    QUENCH_CHECK(planned.contains(node), node->where(), " quantizes '", node->input(0)->name(),
                 "', which the plan does not mention");
}

void check_scales(const Node& quantizer) {
  with_context([&] { return concat("at ", quantizer.where()); },
               [&] { check_values(fake_quant_spec(quantizer), fake_quant_tensors(quantizer)); });
}

ModelStage stage_of_file(const std::string& name) {
  return name == kOldPrepared ? ModelStage::kPrepared : model_stage_from_name(name);
}

void drop_old_marks(Graph& file) {
  for (Node* node : quantizers_of(file))
    for (const char* mark : kOldMarks) node->metadata.erase(mark);
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

const PlanEntry* QuantizedModel::entry_of(const Node& quantizer) const {
  const PlanEntry* entry = plan.find(quantizer.input(0)->name());
  // Something may lie between the value and its quantizer (a norm that trains): the node's name tells.
  return entry ? entry : plan.find(quantized_value(quantizer.name()));
}

Node* leader_of(const QuantizedModel& model, const Node& quantizer) {
  const PlanEntry* entry = model.entry_of(quantizer);
  return entry && !entry->shared_with.empty() ? quantizer_of(model.graph, entry->shared_with) : nullptr;
}

std::unique_ptr<Observer> observer_of(const QuantizedModel& model, const Node& quantizer) {
  const PlanEntry* entry = model.entry_of(quantizer);
  QUENCH_CHECK(entry, quantizer.where(), " has no entry in the plan: it cannot be calibrated");
  if (entry->observer == kNoObserver) return nullptr;
  return with_context([&] { return concat("at ", quantizer.where()); }, [&] { return make_observer(*entry); });
}

void verify(const QuantizedModel& model, ModelStage stage) {
  model.graph.verify();
  QUENCH_CHECK(model.stage >= stage, "the model is ", name_of(model.stage), ", not ", name_of(stage),
               model.stage == ModelStage::kPrepared ? ": its quantizers have no scales; calibrate it first" : "");
  if (stage == ModelStage::kConverted) return;
  check_entries(model);
  if (stage < ModelStage::kCalibrated) return;
  QUENCH_CHECK(model.stage != ModelStage::kConverted,
               "the model is converted: its quantizers have become integers; take the calibrated model that it was "
               "made from");
  const std::vector<Node*> quantizers = quantizers_of(model.graph);
  QUENCH_CHECK(!quantizers.empty(), "the model has no quantizers: 'quench quantize' inserts them");
  for (const Node* node : quantizers) check_scales(*node);
}

Graph with_plan_text(const QuantizedModel& model) {
  Graph file(model.graph);
  file.metadata[kFormatKey] = "1";
  const bool is_float = quantizers_of(file).empty() && model.stage != ModelStage::kConverted;
  file.metadata[kStageKey] = is_float ? "float" : name_of(model.stage);
  if (!is_float) file.metadata[kPlanKey] = to_yaml(model.plan);
  record_plugins(file.metadata);
  return file;
}

bool holds_plan(const Graph& file) { return file.metadata.contains(kPlanKey); }

bool is_converted(const Graph& file) {
  const auto stage = file.metadata.find(kStageKey);
  return stage != file.metadata.end() && stage->second == name_of(ModelStage::kConverted);
}

namespace {

QuantPlan parsed_plan(const Graph& file) {
  QUENCH_CHECK(holds_plan(file),
               "the model carries no plan: 'quench quantize' on the float model makes one (files that another tool "
               "quantized are run, not deployed)");
  return plan_from_yaml(file.metadata.at(kPlanKey),
                        "inside " + (file.source.path.empty() ? "the model" : file.source.path));
}

}  // namespace

QuantPlan plan_in(const Graph& file) {
  QuantPlan plan = parsed_plan(file);
  QUENCH_CHECK(!is_converted(file) || !plan.entries.empty(),
               "the model is converted, and keeps no plan: take the calibrated model that it was made from");
  return plan;
}

void drop_plan_text(Graph& file) {
  file.metadata.erase(kFormatKey);
  file.metadata.erase(kPlanKey);
  file.metadata.erase(kStageKey);
}

namespace {

QuantizedModel model_in(Graph file) {
  QuantPlan plan = parsed_plan(file);
  const auto name = file.metadata.find(kStageKey);
  QUENCH_CHECK(is_converted(file) || !quantizers_of(file).empty(),
               "the model has no quantizers, only the plan of the one that it was made from: take that one "
               "(.quench.onnx)");
  QUENCH_CHECK(name != file.metadata.end(), "the model carries a plan, but does not say how far it has come ('",
               kStageKey, "')");
  const ModelStage stage = stage_of_file(name->second);
  drop_plan_text(file);
  drop_old_marks(file);
  QuantizedModel model(std::move(file), std::move(plan), stage);
  verify(model, stage);
  return model;
}

}  // namespace

QuantizedModel quantized_model_of(Graph file) {
  const Metadata metadata = file.metadata;
  return hinting_at_plugins(metadata, [&] { return model_in(std::move(file)); });
}

}  // namespace quench
