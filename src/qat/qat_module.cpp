#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <set>

#include "calibrate/eager_prepare.h"
#include "calibrate/fit_biases.h"
#include "core/hash.h"
#include "platforms/plan/match.h"
#include "qat/prepared_text.h"
#include "qat/training_graph.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/qat.h"

namespace quench {
namespace {

// Where tensors of a dotted name are registered: modules between the outermost and them are made as needed.
torch::nn::Module& part_of(torch::nn::Module& root, const std::string& path) {
  torch::nn::Module* part = &root;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    const std::string name = path.substr(at, end - at);
    const auto children = part->named_children();
    const auto* found = children.find(name);
    part = found ? found->get() : part->register_module(name, std::make_shared<torch::nn::Module>("Part")).get();
    at = end + 1;
  }
  return *part;
}

struct SplitName {
  std::string path, last;
};
SplitName split(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? SplitName{"", name} : SplitName{name.substr(0, dot), name.substr(dot + 1)};
}

void register_tensor(torch::nn::Module& root, const std::string& name, const at::Tensor& tensor, bool is_parameter) {
  const auto [path, last] = split(name);
  torch::nn::Module& part = part_of(root, path);
  if (is_parameter)
    part.register_parameter(last, tensor, tensor.requires_grad());
  else
    part.register_buffer(last, tensor);
}

// "conv.weight_fake_quant", "conv.activation_post_process": torch's names.
std::string quantizer_path(const Node& quantizer) {
  const std::string value = quantized_value(quantizer.name());
  return value + (fake_quant_spec(quantizer).role == Role::kActivation ? ".activation_post_process" : "_fake_quant");
}

std::string device_of(const torch::nn::Module* owner) {
  if (owner)
    for (const at::Tensor& parameter : owner->parameters()) return parameter.device().str();
  return "cpu";
}

// Parameters whose owner does not want them trained.
std::vector<at::Tensor> frozen_parameters(const torch::nn::Module* owner) {
  std::vector<at::Tensor> frozen;
  if (owner)
    for (const at::Tensor& parameter : owner->parameters())
      if (!parameter.requires_grad()) frozen.push_back(parameter);
  return frozen;
}

std::set<std::string> norms_in_evaluation(const EagerModel& source) {
  std::set<std::string> names;
  for (const ModuleInfo& module : source.modules())
    if (module.type.starts_with("BatchNorm") && !module.training) names.insert(module.name);
  return names;
}

// What a layer reads, behind its quantizers.
Value* behind_quantizers(Value* value) {
  while (value && (is_quantizer(value->producer()) || is_bias_quantizer(value->producer())))
    value = value->producer()->input(0);
  return value;
}

// Where no module says what learns: all weights and biases, those that folding and corrections computed too.
void let_weights_learn(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (const int slot : entry_of(*node).traits.parameter_slots) {
      Value* value = behind_quantizers(node->input(slot));
      if (value && value->is_constant() && value->dtype() == DType::kFloat) value->set_parameter(true);
    }
  }
}

constexpr const char* kWhatFits = "; what fits is what prepare_qat makes of the same network with the same qconfig";

void check_fits(const std::string& name, const at::Tensor& given, const at::Tensor& own) {
  QUENCH_CHECK(given.defined(), "the file has no '", name, "'", kWhatFits);
  QUENCH_CHECK(given.sizes() == own.sizes(), "'", name, "' has the shape ", given.sizes(), " in the file, and ",
               own.sizes(), " here", kWhatFits);
  QUENCH_CHECK(given.scalar_type() == own.scalar_type(), "'", name, "' is of type ", given.scalar_type(),
               " in the file, and ", own.scalar_type(), " here; to() of the module changes that");
}

// LibTorch takes over what it reads, whatever its shape.
void check_fits(const torch::nn::Module& module, torch::serialize::InputArchive& archive, const std::string& prefix) {
  const auto check = [&](const auto& tensors, bool is_buffer) {
    for (const auto& item : tensors) {
      at::Tensor given;
      archive.try_read(item.key(), given, is_buffer);
      check_fits(prefix + item.key(), given, item.value());
    }
  };
  for (const auto& child : module.named_children()) {
    torch::serialize::InputArchive inner;
    QUENCH_CHECK(archive.try_read(child.key(), inner), "the file has no '", prefix, child.key(), "'", kWhatFits);
    check_fits(*child.value(), inner, prefix + child.key() + ".");
  }
  check(module.named_parameters(/*recurse=*/false), /*is_buffer=*/false);
  check(module.named_buffers(/*recurse=*/false), /*is_buffer=*/true);
}

}  // namespace

QatModule::QatModule(QuantizedModel model, const EagerModel* source)
    : model_(std::make_unique<QuantizedModel>(std::move(model))),
      text_(source ? std::make_unique<ModuleText>(prepared_text(*source, *model_)) : nullptr),
      has_scales_(model_->stage >= ModelStage::kCalibrated),
      seed_(static_cast<std::uint64_t>(at::randint(1 << 30, {}).item<std::int64_t>())) {
  QUENCH_CHECK(model_->stage != ModelStage::kConverted, "a converted model has no parameters to train");
  if (!source) let_weights_learn(model_->graph);
  const torch::nn::Module* owner = source ? &source->module() : nullptr;
  const std::vector<at::Tensor> frozen = frozen_parameters(owner);
  training_ = std::make_unique<TrainingGraph>(*model_, device_of(owner));
  training_->leave_tensors();
  for (const at::Tensor& parameter : frozen) parameter.set_requires_grad(false);
  register_tensors(owner);
  switches_ = register_buffer("switches", at::zeros({4}, at::kLong));
  if (source) frozen_norms_ = norms_in_evaluation(*source);
  hold_norms(frozen_norms_.empty() ? Held::kNone : Held::kAsPrepared);
  note_switches();
}

QatModule::~QatModule() = default;

void QatModule::register_tensors(const torch::nn::Module* owner) {
  std::set<const at::TensorImpl*> done;
  const auto add = [&](const std::string& name, const at::Tensor& tensor, bool is_parameter) {
    if (tensor.defined() && done.insert(tensor.unsafeGetTensorImpl()).second)
      register_tensor(*this, name, tensor, is_parameter);
  };
  if (owner) {
    for (const auto& item : owner->named_parameters()) add(item.key(), item.value(), true);
    for (const auto& item : owner->named_buffers()) add(item.key(), item.value(), false);
  }
  for (const Node* node : quantizers_of(model_->graph)) {
    const std::vector<FakeQuantParam> params = params_of(fake_quant_spec(*node));
    for (std::size_t i = 0; i < params.size(); ++i)
      add(quantizer_path(*node) + "." + params[i].name, node->input(static_cast<int>(i) + 1)->tensor(),
          params[i].learnable);
  }
  for (const auto& [name, tensor] : training_->state()) add(name, tensor, tensor.requires_grad());
}

void QatModule::follow_device() {
  for (const at::Tensor& parameter : parameters()) return training_->set_device(parameter.device().str());
}

std::vector<at::Tensor> QatModule::forward_all(const std::vector<at::Tensor>& inputs) {
  const std::vector<Value*>& declared = model_->graph.inputs();
  QUENCH_CHECK(inputs.size() == declared.size(), "the model takes ", declared.size(), " inputs, ", inputs.size(),
               " were given");
  NamedValues named;
  for (std::size_t i = 0; i < inputs.size(); ++i) named[declared[i]->name()] = inputs[i];
  follow_device();
  if (fake_quant_ && !has_scales()) find_scales(named);
  set_flags();
  const std::uint64_t drawn = stable_hash(concat(seed_, " ", step_));
  std::vector<at::Tensor> outputs = training_->forward(named, is_training(), drawn, step_);
  ++step_;
  if (fake_quant_ && !has_scales_) {  // those that follow an observer have found theirs now
    has_scales_ = true;
    note_switches();
  }
  return outputs;
}

at::Tensor QatModule::forward(const at::Tensor& x) {
  const std::vector<at::Tensor> results = forward_all({x});
  QUENCH_CHECK(results.size() == 1, "the model gives ", results.size(), " tensors: call forward_all");
  return results[0];
}

std::vector<at::Tensor> QatModule::forward_mode(const std::vector<at::Tensor>& inputs, const std::string& mode,
                                                const std::vector<at::Tensor>& targets) {
  return heads_.apply(mode, forward_all(inputs), targets);
}

// Another may have written the buffers: a checkpoint that was loaded by name.
bool QatModule::has_scales() {
  if (has_scales_ || switches_[3].item<std::int64_t>() == 0) return has_scales_;
  has_scales_ = true;
  note_switches();
  return true;
}

// Those that do not follow an observer, from this batch, as the float network sees it.
void QatModule::find_scales(const NamedValues& inputs) {
  QUENCH_CHECK(is_training(),
               "the quantizers have no scales yet: forward a batch in training mode first, or "
               "disable_fake_quant()");
  QUENCH_CHECK(observer_, "the quantizers have no scales yet, and their observers are off: enable_observer()");
  if (!training_->finds_scales_once()) return;
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> kept;  // this batch is not to count twice in running statistics
  for (const at::Tensor& buffer : buffers()) kept.push_back(buffer.clone());
  training_->set_flags({}, {.observe = true});
  flags_set_ = -1;
  training_->forward(inputs, /*training=*/true, stable_hash(concat(seed_, " ", step_)), step_);
  const std::vector<at::Tensor> now = buffers();
  for (std::size_t i = 0; i < now.size(); ++i) now[i].copy_(kept[i]);
  training_->take_over(/*following=*/false, /*others=*/true);
}

void QatModule::set_flags() {
  const bool observes = observer_ && is_training();
  const int wanted = (observes ? 2 : 0) + (fake_quant_ ? 1 : 0);
  if (wanted == flags_set_) return;
  flags_set_ = wanted;
  training_->set_flags({.observe = observes, .quantize = fake_quant_},
                       {.observe = observes && !fake_quant_, .quantize = fake_quant_});
}

void QatModule::note_switches() {
  const c10::NoGradGuard no_grad;
  switches_.copy_(at::tensor({std::int64_t{observer_}, std::int64_t{fake_quant_}, static_cast<std::int64_t>(held_),
                              std::int64_t{has_scales_}}));
}

void QatModule::enable_observer() {
  observer_ = true;
  note_switches();
}

void QatModule::disable_observer() {
  observer_ = false;
  note_switches();
}

// What was observed meanwhile counts from now on; what was learned already is not lost to it.
void QatModule::enable_fake_quant() {
  if (!fake_quant_ && training_->take_over(/*following=*/true, /*others=*/!has_scales())) has_scales_ = true;
  fake_quant_ = true;
  note_switches();
}

void QatModule::disable_fake_quant() {
  fake_quant_ = false;
  note_switches();
}

void QatModule::hold_norms(Held held) {
  if (held == held_) return;
  held_ = held;
  training_->hold_norms([&](const Node& norm) {
    const auto is_this = [&](const std::string& name) { return is_named(norm, name); };
    return held == Held::kAll ||
           (held == Held::kAsPrepared && std::any_of(frozen_norms_.begin(), frozen_norms_.end(), is_this));
  });
}

void QatModule::freeze_bn_stats() {
  hold_norms(Held::kAll);
  note_switches();
}

void QatModule::update_bn_stats() {
  hold_norms(Held::kNone);
  note_switches();
}

std::vector<at::Tensor> QatModule::quantizer_parameters() const {
  std::vector<at::Tensor> learned;
  std::set<const at::TensorImpl*> done;  // quantizers may share a scale
  for (const Node* node : quantizers_of(model_->graph)) {
    const std::vector<FakeQuantParam> params = params_of(fake_quant_spec(*node));
    for (std::size_t i = 0; i < params.size(); ++i) {
      const at::Tensor& tensor = node->input(static_cast<int>(i) + 1)->tensor();
      if (params[i].learnable && done.insert(tensor.unsafeGetTensorImpl()).second) learned.push_back(tensor);
    }
  }
  return learned;
}

std::vector<at::Tensor> QatModule::network_parameters() const {
  std::vector<at::Tensor> others = parameters();
  std::set<const at::TensorImpl*> learned;
  for (const at::Tensor& one : quantizer_parameters()) learned.insert(one.unsafeGetTensorImpl());
  std::erase_if(others, [&](const at::Tensor& one) { return learned.contains(one.unsafeGetTensorImpl()); });
  return others;
}

QuantizedModel QatModule::model() const {
  QUENCH_CHECK(has_scales_ || switches_[3].item<std::int64_t>() != 0,
               "the quantizers have no scales yet: forward a batch in training mode first");
  QuantizedModel copy(model_->graph.clone(), model_->plan, ModelStage::kTrained);
  for (Value* constant : copy.graph.constants())
    if (!constant->tensor().is_cpu()) copy.graph.set_tensor(*constant, constant->tensor().cpu(), constant->dtype());
  set_state(copy.graph, std::nullopt, {.quantize = true});
  fit_biases(copy);
  verify(copy, ModelStage::kTrained);
  return copy;
}

const Graph& QatModule::graph() const { return model_->graph; }
const QuantPlan& QatModule::plan() const { return model_->plan; }

// One archive per quantizer, in order of the graph: names of tensors in archives cannot have dots.
void QatModule::save(torch::serialize::OutputArchive& archive) const {
  torch::nn::Module::save(archive);
  torch::serialize::OutputArchive all(archive.compilation_unit());
  const TensorMap seen = training_->observers();
  int number = 0;
  for (const Node* node : quantizers_of(model_->graph)) {
    torch::serialize::OutputArchive one(archive.compilation_unit());
    const std::string prefix = node->name() + "/";
    for (auto at = seen.lower_bound(prefix); at != seen.end() && at->first.starts_with(prefix); ++at)
      one.write(at->first.substr(prefix.size()), at->second, /*is_buffer=*/true);
    all.write(concat("observer", number++), one);
  }
  archive.write("observers", all);
}

void QatModule::load(torch::serialize::InputArchive& archive) {
  check_fits(*this, archive, "");
  torch::serialize::InputArchive all;
  archive.read("observers", all);
  const std::vector<Node*> quantizers = quantizers_of(model_->graph);
  QUENCH_CHECK(all.keys().size() == quantizers.size(), "the file has ", all.keys().size(), " quantizers, and ",
               quantizers.size(), " are here", kWhatFits);
  TensorMap seen;
  int number = 0;
  for (const Node* node : quantizers) {
    torch::serialize::InputArchive one;
    all.read(concat("observer", number++), one);
    for (const std::string& key : one.keys()) one.read(key, seen[node->name() + "/" + key], /*is_buffer=*/true);
  }
  training_->load_observers(seen);
  torch::nn::Module::load(archive);
  const at::Tensor switches = switches_.cpu();
  const auto at = [&](int i) { return switches[i].item<std::int64_t>(); };
  observer_ = at(0) != 0;
  fake_quant_ = at(1) != 0;
  hold_norms(static_cast<Held>(at(2)));
  has_scales_ = at(3) != 0;
  note_switches();
  flags_set_ = -1;
}

std::shared_ptr<QatModule> prepare_qat(const EagerModel& model) {
  QUENCH_CHECK(model.module().is_training(),
               "prepare_qat: the module is in evaluation mode; call train() on it before quantization-aware training");
  return std::make_shared<QatModule>(prepare_eager(model, NormMode::kLive, /*shares_tensors=*/true), &model);
}

}  // namespace quench
