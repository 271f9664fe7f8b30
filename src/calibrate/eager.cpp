#include "quench/eager.h"

#include <ATen/ATen.h>

#include <ostream>

#include "calibrate/eager_prepare.h"
#include "calibrate/eager_rules.h"
#include "calibrate/module_of_node.h"
#include "calibrate/module_text.h"
#include "calibrate/quantizer_text.h"
#include "quench/error.h"
#include "quench/prepare.h"

namespace quench {

QuantizedModel prepare_eager(const EagerModel& model, NormMode norm, bool shares_tensors) {
  QuantConfig config;
  config.platform = backend_of(model.qconfig);
  const std::vector<ModuleInfo> modules = model.modules();
  const Graph traced = shares_tensors ? model.trace_shared() : model.trace();
  Graph fused = traced;
  fuse_for_quantizing(fused, config, norm);
  config.fuse = fused_nodes(model.fused, modules, traced, fused);
  apply_mapping(model.qconfig, modules, fused, config);
  return prepare(fused, config, {norm, std::nullopt});
}

std::vector<ModuleInfo> EagerModel::modules() const {
  std::vector<ModuleInfo> list;
  for (const auto& item : module_->named_modules()) {
    const torch::nn::Module& module = *item.value();
    const bool has_tensors = !module.parameters(false).empty() || !module.buffers(false).empty();
    list.push_back({item.key(), short_type(module.name()), has_tensors, module.is_training()});
  }
  return list;
}

FuseLists EagerModel::own_lists(std::optional<bool> is_qat) const {
  QUENCH_CHECK(own_lists_,
               "fuse_model: the module has no member fuse_model() that gives lists of names; call "
               "fuse_modules with the lists");
  return own_lists_(is_qat);
}

Graph EagerModel::trace() const { return trace_shared().clone(); }

Graph EagerModel::trace_shared() const {
  const TrainingMode eval(*module_, false);
  std::vector<at::Tensor> examples = examples_;  // where the module is by now
  if (const auto parameters = module_->parameters(); !parameters.empty())
    for (at::Tensor& example : examples) example = example.to(parameters[0].device());
  return import_module(*module_, forward_, examples, options_);
}

namespace {

FuseLists lists_of(FuseList list) {
  return list.size() == 0 ? FuseLists{} : FuseLists{FuseLists::value_type(list.begin(), list.end())};
}

}  // namespace

void fuse_modules_in_place(EagerModel& model, const FuseLists& lists, std::optional<bool> is_qat) {
  const std::vector<ModuleInfo> modules = model.modules();
  for (const auto& names : lists) check_fusible(modules, names, is_qat.value_or(modules.front().training));
  model.fused.insert(model.fused.end(), lists.begin(), lists.end());
}

EagerModel fuse_modules(const EagerModel& model, const FuseLists& lists, std::optional<bool> is_qat) {
  EagerModel copy = model;
  fuse_modules_in_place(copy, lists, is_qat);
  return copy;
}

EagerModel fuse_modules_qat(const EagerModel& model, const FuseLists& lists) {
  return fuse_modules(model, lists, true);
}

EagerModel fuse_modules(const EagerModel& model, FuseList list, std::optional<bool> is_qat) {
  return fuse_modules(model, lists_of(list), is_qat);
}

EagerModel fuse_modules_qat(const EagerModel& model, FuseList list) { return fuse_modules_qat(model, lists_of(list)); }

void fuse_modules_in_place(EagerModel& model, FuseList list, std::optional<bool> is_qat) {
  fuse_modules_in_place(model, lists_of(list), is_qat);
}

void fuse_model(EagerModel& model, std::optional<bool> is_qat) {
  fuse_modules_in_place(model, model.own_lists(is_qat), is_qat);
}

namespace {

ModuleText calibrating_text(const EagerModel& source, const Graph& graph) {
  ModuleText text = module_text(source.module());
  text.modules = modules_of_nodes(source.modules(), graph);
  for (const auto& names : source.fused) fuse_text(text, names, /*is_training=*/false);
  for (const ModuleInfo& module : source.modules()) {
    ModuleText* norm = text.find(module.name);
    if (norm->type.starts_with("BatchNorm") && !graph.find_node(module.name)) *norm = {"Identity", ""};  // folded
  }
  return text;
}

}  // namespace

struct PreparedModel::State {
  State(QuantizedModel given, const EagerModel* source) : model(std::move(given)) {
    if (source) module = calibrating_text(*source, model.graph);
    enable_calibration(model);
  }

  QuantizedModel model;
  ModuleText module{"PreparedModel", ""};
  bool finished = false;
};

PreparedModel::PreparedModel(QuantizedModel prepared, const EagerModel* source)
    : state_(std::make_unique<State>(std::move(prepared), source)) {}
PreparedModel::~PreparedModel() = default;
PreparedModel::PreparedModel(PreparedModel&&) noexcept = default;

std::vector<at::Tensor> PreparedModel::forward_all(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> results;
  for (const RtValue& value : quench::forward(state_->model, {inputs.begin(), inputs.end()}))
    results.push_back(value.tensor());
  return results;
}

at::Tensor PreparedModel::forward(const at::Tensor& x) {
  const std::vector<at::Tensor> results = forward_all({x});
  QUENCH_CHECK(results.size() == 1, "the model gives ", results.size(), " tensors: call forward_all");
  return results[0];
}

void PreparedModel::finish() {
  if (state_->finished) return;
  enable_quantization(state_->model);
  state_->finished = true;
}

std::vector<at::Tensor> PreparedModel::recorded(const std::string& value) const {
  const Observer* observer = observer_at_work(state_->model, value);
  QUENCH_CHECK(observer && observer->kind() == "recording", "'", value, "' has no observer 'recording'",
               state_->finished ? ": it is gone with finish()" : "");
  std::vector<at::Tensor> tensors;
  if (!observer->seen()) return tensors;
  const auto state = observer->state();
  for (auto at = state.find("tensor_0"); at != state.end(); at = state.find(concat("tensor_", tensors.size())))
    tensors.push_back(at->second);
  return tensors;
}

bool PreparedModel::finished() const { return state_->finished; }
const QuantizedModel& PreparedModel::model() const { return state_->model; }
const Graph& PreparedModel::graph() const { return state_->model.graph; }
const QuantPlan& PreparedModel::plan() const { return state_->model.plan; }

std::string PreparedModel::text() const {
  ModuleText text = state_->module;
  add_quantizers(text, state_->model, /*only_observe=*/!state_->finished);
  return text.text();
}

std::ostream& operator<<(std::ostream& stream, const PreparedModel& model) { return stream << model.text(); }

PreparedModel prepare(const EagerModel& model) {
  for (const ModuleInfo& module : model.modules())
    QUENCH_CHECK(!module.training, "prepare: ", module.name.empty() ? "the module" : "'" + module.name + "'",
                 " is in training mode; call eval() on it before post-training quantization");
  return PreparedModel(prepare_eager(model, NormMode::kFold, /*shares_tensors=*/false), &model);
}

}  // namespace quench
