#include "quench/load_quantized.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "calibrate/module_of_node.h"
#include "quench/error.h"
#include "quench/zoo_net.h"
#include "zoo/zoo_weights.h"

namespace quench {
namespace {

constexpr std::string_view kWeight = ".weight", kBias = ".bias";

class QuantizedLoader {
 public:
  QuantizedLoader(const EagerModel& module, const QuantizedState& state)
      : model_(prepare(module).model()), state_(state), modules_(module.modules(), model_.graph) {
    for (const auto& [name, tensor] : state.tensors) unused_.insert(name);
  }

  QuantizedModel load() {
    for (const PlanEntry& entry : model_.plan.entries)
      if (entry.role == Role::kWeight) load_weight(entry);
    for (const PlanEntry& entry : model_.plan.entries)
      if (entry.role == Role::kActivation && entry.shared_with.empty()) load_output(entry);
    check_all_used();
    set_state(model_.graph, std::nullopt, {.quantize = true});
    model_.stage = ModelStage::kCalibrated;
    verify(model_, ModelStage::kCalibrated);
    return std::move(model_);
  }

 private:
  void load_weight(const PlanEntry& entry) {
    Value& weight = *quantizer_of(model_.graph, entry.value)->input(0);
    const auto grid = state_.grids.find(entry.value);
    QUENCH_CHECK(grid != state_.grids.end(), "the file has no quantized tensor '", entry.value, "'");
    QUENCH_CHECK(grid->second.axis == (entry.scheme.per_tensor() ? -1 : entry.scheme.axis()), "'", entry.value,
                 "' has ", grid->second.axis < 0 ? "one scale for all" : "scales per channel",
                 " in the file, but is to be '", entry.scheme.text(),
                 "'; choose the qconfig of the backend that the file was made for");
    set_tensor(weight, entry.value, state_.dequantized(entry.value));
    set_params(entry, grid->second.params);
    const std::string layer = entry.value.substr(0, entry.value.size() - kWeight.size());
    Node& node = *quantizer_of(model_.graph, entry.value)->output().uses().at(0).node;
    modules_.name(node, layer);
    load_bias(node, layer + std::string(kBias));
  }

  void load_bias(const Node& layer, const std::string& name) {
    Value* bias = layer.input(2);
    if (bias && is_bias_quantizer(bias->producer())) bias = bias->producer()->input(0);
    const bool has = state_.tensors.contains(name);
    QUENCH_CHECK(bias || !has, "the file has '", name, "', but ", layer.where(), " has no bias");
    if (bias) set_tensor(*bias, name, has ? state_.tensors.at(name) : at::zeros_like(bias->tensor()));
  }

  void set_tensor(Value& constant, const std::string& name, const at::Tensor& tensor) {
    QUENCH_CHECK(constant.is_constant() && tensor.sizes() == constant.tensor().sizes(), "'", name, "' has shape ",
                 tensor.sizes(), " in the file", constant.is_constant() ? " and another in the model" : "");
    model_.graph.set_tensor(constant, tensor.detach().to(at::kFloat).contiguous().clone());
    unused_.erase(name);
  }

  void load_output(const PlanEntry& entry) {
    if (entry.observer == "fixed_qparams") return set_params(entry, make_observer(entry)->qparams());
    const Node* node = quantizer_of(model_.graph, entry.value)->input(0)->producer();
    const std::string module = node ? modules_.of(*node) : "";
    const auto at = state_.outputs.find(module);
    QUENCH_CHECK(at != state_.outputs.end(), "the file has no scale for '", entry.value, "'",
                 module.empty() ? "" : concat(", which '", module, "' writes"));
    loaded_.insert(module);
    set_params(entry, at->second);
  }

  void set_params(const PlanEntry& entry, const QParams& params) {
    with_context([&] { return concat("while loading the scale of '", entry.value, "'"); },
                 [&] {
                   set_qparams(*quantizer_of(model_.graph, entry.value), params);
                   return 0;
                 });
  }

  // torch gives every FloatFunctional a scale, used or not.
  void check_all_used() const {
    for (const auto& [module, params] : state_.outputs)
      QUENCH_CHECK(loaded_.contains(module) || modules_.type_of(module) == "FloatFunctional",
                   "the file has a scale for '", module, "', which the model does not quantize");
    QUENCH_CHECK(unused_.empty(), "the file has '", *unused_.begin(), "', which belongs to no quantized layer");
  }

  QuantizedModel model_;
  const QuantizedState& state_;
  ModuleOfNode modules_;
  std::set<std::string> unused_, loaded_;
};

at::Tensor image_for(const std::string& name, const ZooOptions& options) {
  const ZooEntry& entry = ZooRegistry::instance().get(name);
  const std::int64_t channels = options.in_channels > 0 ? options.in_channels : entry.in_channels;
  return at::rand({1, channels, entry.image_size, entry.image_size});
}

EagerModel eager_model_of(const std::string& name, const at::Tensor& image, const QConfig& qconfig,
                          const ZooOptions& options) {
  const std::shared_ptr<ZooNet> net = make_quantizable_model(name, "", options);
  set_training(*net, false);
  EagerModel model(net, {image});
  model.qconfig.set_global(qconfig);
  return fuse_modules(model, fusible_modules(*net));
}

QuantizedModel calibrated_on(const at::Tensor& image, const EagerModel& model) {
  PreparedModel prepared = prepare(model);
  prepared.forward(image);
  prepared.finish();
  return prepared.model();
}

QuantizedState state_for(const std::string& name, const std::string& path) {
  const ZooEntry& entry = ZooRegistry::instance().get(name);
  const auto is_unused = [&](const auto& item) { return is_training_only(entry, item.first); };
  QuantizedState state = read_quantized_state(path);
  std::erase_if(state.tensors, is_unused);
  std::erase_if(state.grids, is_unused);
  std::erase_if(state.outputs, is_unused);
  return state;
}

}  // namespace

QuantizedModel load_quantized_state(const EagerModel& model, const QuantizedState& state) {
  return QuantizedLoader(model, state).load();
}

QuantizedModel make_quantized_model(const std::string& name, const std::string& weights, const std::string& backend,
                                    const ZooOptions& options) {
  const at::Tensor image = image_for(name, options);
  QConfig qconfig = get_default_qconfig(backend);
  if (weights.empty()) {  // as torchvision does it: the least and the greatest value, on codes from 0 to 127
    qconfig.activation.observer = "min_max";
    qconfig.activation.bits = 7;
    return calibrated_on(image, eager_model_of(name, image, qconfig, options));
  }
  qconfig.activation.bits = 8;  // converted networks use all codes, whatever reduce_range made of their scales
  return with_context(
      [&] { return concat("while loading '", weights, "' into '", name, "'"); },
      [&] { return load_quantized_state(eager_model_of(name, image, qconfig, options), state_for(name, weights)); });
}

}  // namespace quench
