#include "quench/eager.h"

#include <ATen/ATen.h>

#include "calibrate/eager_rules.h"
#include "quench/error.h"
#include "quench/prepare.h"

namespace quench {
namespace {

// "torch::nn::Conv2dImpl" -> "Conv2d"
std::string short_type(std::string type) {
  const std::size_t colon = type.rfind("::");
  if (colon != std::string::npos) type.erase(0, colon + 2);
  if (type.ends_with("Impl")) type.erase(type.size() - 4);
  return type;
}

PreparedModel prepare_traced(const EagerModel& model) {
  QuantConfig config;
  config.platform = backend_of(model.qconfig);
  const std::vector<ModuleInfo> modules = model.modules();
  const Graph traced = model.trace();
  Graph fused = traced;
  fuse_for_quantizing(fused, config, NormMode::kFold);
  config.fuse = fused_nodes(model.fused, modules, traced, fused);
  apply_mapping(model.qconfig, modules, fused, config);
  return PreparedModel(prepare(fused, config));
}

}  // namespace

std::vector<ModuleInfo> EagerModel::modules() const {
  std::vector<ModuleInfo> list;
  for (const auto& item : module_->named_modules()) {
    const torch::nn::Module& module = *item.value();
    const bool has_tensors = !module.parameters(false).empty() || !module.buffers(false).empty();
    list.push_back({item.key(), short_type(module.name()), has_tensors, module.is_training()});
  }
  return list;
}

Graph EagerModel::trace() const {
  const TrainingMode eval(*module_, false);
  return import_module(*module_, forward_, examples_).clone();
}

void fuse_modules_in_place(EagerModel& model, const std::vector<std::vector<std::string>>& lists,
                           std::optional<bool> is_qat) {
  const std::vector<ModuleInfo> modules = model.modules();
  for (const auto& names : lists) check_fusible(modules, names, is_qat.value_or(modules.front().training));
  model.fused.insert(model.fused.end(), lists.begin(), lists.end());
}

EagerModel fuse_modules(const EagerModel& model, const std::vector<std::vector<std::string>>& lists,
                        std::optional<bool> is_qat) {
  EagerModel copy = model;
  fuse_modules_in_place(copy, lists, is_qat);
  return copy;
}

struct PreparedModel::State {
  explicit State(QuantizedModel given) : model(std::move(given)) { enable_calibration(model); }

  QuantizedModel model;
  bool finished = false;
};

PreparedModel::PreparedModel(QuantizedModel prepared) : state_(std::make_unique<State>(std::move(prepared))) {}
PreparedModel::~PreparedModel() = default;
PreparedModel::PreparedModel(PreparedModel&&) noexcept = default;

std::vector<at::Tensor> PreparedModel::forward(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> results;
  for (const RtValue& value : quench::forward(state_->model, {inputs.begin(), inputs.end()}))
    results.push_back(value.tensor());
  return results;
}

at::Tensor PreparedModel::forward(const at::Tensor& x) {
  const std::vector<at::Tensor> results = forward(std::vector<at::Tensor>{x});
  QUENCH_CHECK(results.size() == 1, "the model gives ", results.size(), " tensors: call forward with a vector");
  return results[0];
}

void PreparedModel::finish() {
  if (state_->finished) return;
  enable_quantization(state_->model);
  state_->finished = true;
}

bool PreparedModel::finished() const { return state_->finished; }
const QuantizedModel& PreparedModel::model() const { return state_->model; }
const Graph& PreparedModel::graph() const { return state_->model.graph; }
const QuantPlan& PreparedModel::plan() const { return state_->model.plan; }

PreparedModel prepare(const EagerModel& model) {
  for (const ModuleInfo& module : model.modules())
    QUENCH_CHECK(!module.training, "prepare: ", module.name.empty() ? "the module" : "'" + module.name + "'",
                 " is in training mode; call eval() on it before post-training quantization");
  return prepare_traced(model);
}

PreparedModel quantize(const EagerModel& model, const std::function<void(PreparedModel&)>& run_fn) {
  PreparedModel prepared = prepare_traced(model);
  run_fn(prepared);
  prepared.finish();
  return prepared;
}

}  // namespace quench
