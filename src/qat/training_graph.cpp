#include "qat/training_graph.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <set>

#include "ops/batch_norm.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

bool is_quantizer_state(const Value& value) {
  return std::any_of(value.uses().begin(), value.uses().end(),
                     [](const Value::Use& use) { return is_quantizer(use.node) && use.slot > 0; });
}

bool is_scale(const Value& value) {
  return std::any_of(value.uses().begin(), value.uses().end(),
                     [](const Value::Use& use) { return is_quantizer(use.node) && use.slot == 1; });
}

// Running statistics, which training writes in place.
bool is_buffer(const Value& value) {
  return std::any_of(value.uses().begin(), value.uses().end(), [](const Value::Use& use) {
    const std::vector<int>& slots = entry_of(*use.node).traits.buffer_slots;
    return std::count(slots.begin(), slots.end(), use.slot) > 0;
  });
}

// Those that the present training writes.
bool is_running(const Value& value) {
  return value.tensor().is_floating_point() && is_buffer(value) &&
         std::none_of(value.uses().begin(), value.uses().end(), [](const Value::Use& use) { return use.node->frozen; });
}

bool trains(const Value& value) {
  return value.is_constant() && (value.is_parameter() || is_buffer(value) || is_quantizer_state(value));
}

ParameterKind kind_of(const Value& value) {
  if (is_scale(value)) return ParameterKind::kScale;
  if (is_quantizer_state(value)) return ParameterKind::kQuantizer;
  return value.tensor().dim() > 1 ? ParameterKind::kWeight : ParameterKind::kOther;
}

// In the tensor itself, so that a module and copies of the graph see it.
void move(const at::Tensor& tensor, const at::Device& device) {
  if (tensor.device() != device) at::Tensor(tensor).set_data(tensor.detach().to(device));
}

bool learns(const FakeQuantSpec& spec) {
  const std::vector<FakeQuantParam> params = params_of(spec);
  return std::any_of(params.begin(), params.end(), [](const FakeQuantParam& param) { return param.learnable; });
}

bool follows(const ObservedQuantizer& one) { return one.observer->refreshable() && !learns(one.algorithm->spec()); }

bool has_seen(const ObservedQuantizer& one) {
  return one.observer->seen() || !ObserverRegistry::instance().get(one.observer->kind()).needs_data;
}

}  // namespace

// Where a tensor came from.
struct TrainingGraph::Home {
  at::Tensor tensor;
  at::Device device;
  bool requires_grad;
};

TrainingGraph::TrainingGraph(QuantizedModel& model, std::string device)
    : model_(model), device_(std::move(device)), observing_(std::make_unique<Observing>(model)) {
  for (const Value* value : model_.graph.constants()) {
    if (!trains(*value)) continue;
    const at::Tensor& tensor = value->tensor();
    homes_.push_back({tensor, tensor.device(), tensor.requires_grad()});
    move(tensor, at::Device(device_));
    if (value->is_parameter() && tensor.is_floating_point()) tensor.requires_grad_();
  }
  const auto& nodes = model_.graph.nodes();
  frozen_ = std::none_of(nodes.begin(), nodes.end(),
                         [](const auto& node) { return node->op() == "BatchNormalization" && !node->frozen; });
  for (const Node* node : quantizers_of(model_.graph)) flags_.quantize = flags_.quantize || is_on(*node);
  norm_scales_ = std::make_unique<NormScales>(model_.graph);
}

TrainingGraph::~TrainingGraph() {
  for (const Home& home : homes_) {
    at::Tensor tensor = home.tensor;
    tensor.mutable_grad() = at::Tensor();
    tensor.set_requires_grad(home.requires_grad);
    move(tensor, home.device);
  }
}

void TrainingGraph::leave_tensors() { homes_.clear(); }

void TrainingGraph::set_device(const std::string& device) {
  if (device == device_) return;
  device_ = device;
  drop_executor();
}

const Graph& TrainingGraph::graph() const { return model_.graph; }

void TrainingGraph::drop_executor() {
  executor_.reset();
  ++form_;
}

Executor& TrainingGraph::executor() {
  if (executor_) return *executor_;
  running_ = std::make_unique<Graph>(model_.graph);
  run_passes(*running_, training_passes());
  ExecOptions options;
  options.device = device_;
  options.channels_last = true;
  executor_ = std::make_unique<Executor>(*running_, options);
  observing_->attach(*executor_);
  return *executor_;
}

std::vector<at::Tensor> TrainingGraph::forward(const NamedValues& inputs, bool training, std::uint64_t seed,
                                               std::uint64_t step) {
  Executor& running = executor();
  running.options().training = training;
  running.options().shares = shares_;
  running.options().grad = c10::GradMode::is_enabled();
  running.options().seed = seed;
  running.options().step = step;
  std::vector<std::string> names;
  for (const Value* output : running.graph().outputs()) names.push_back(output->name());
  const NamedValues results = running.run(inputs, names);
  std::vector<at::Tensor> outputs;
  for (const std::string& name : names) outputs.push_back(results.at(name).tensor());
  if (waiting_) {  // the first batch has given their leaders a scale
    observing_->switch_followers_on();
    waiting_ = false;
    drop_executor();
  }
  return outputs;
}

void TrainingGraph::count_batches() {
  for (const auto& node : executor().graph().nodes())  // what counts on the device was replayed
    if (!node->frozen && counts_on_host(*node)) count_batch(*node);
}

std::vector<TrainedParameter> TrainingGraph::parameters() const {
  std::vector<TrainedParameter> list;
  for (const Value* value : model_.graph.parameters())
    if (value->tensor().is_floating_point()) list.push_back({value, kind_of(*value)});
  return list;
}

TensorMap TrainingGraph::state() const {
  TensorMap state;
  for (const Value* value : model_.graph.constants())
    if (trains(*value)) state.emplace(value->name(), value->tensor());
  return state;
}

void TrainingGraph::load(const TensorMap& given) {
  const c10::NoGradGuard no_grad;
  TensorMap own = state();
  for (auto& [name, tensor] : own) {
    const auto found = given.find(name);
    QUENCH_CHECK(found != given.end(), "the state holds no '", name, "'");
    QUENCH_CHECK(found->second.sizes() == tensor.sizes(), "'", name, "' has the shape ", found->second.sizes(),
                 " in the state, and ", tensor.sizes(), " in the model");
  }
  QUENCH_CHECK(given.size() == own.size(), "the state belongs to another model: it has ", given.size(),
               " tensors, not ", own.size());
  for (auto& [name, tensor] : own) at::Tensor(tensor).detach().copy_(given.at(name));
  norm_scales_ = std::make_unique<NormScales>(model_.graph);
  ++form_;  // a captured step knows the tensors of the old ones
}

void TrainingGraph::set_flags(QuantFlags flags) { set_flags(flags, flags); }

void TrainingGraph::set_flags(QuantFlags following, QuantFlags others) {
  set_state(model_.graph, std::nullopt, {.quantize = following.quantize});
  for (const ObservedQuantizer& one : observing_->quantizers())
    set_fake_quant_flags(*one.node, follows(one) ? following : others);
  const auto& all = observing_->quantizers();
  waiting_ = following.observe && following.quantize && model_.stage < ModelStage::kCalibrated &&
             std::none_of(all.begin(), all.end(), [](const auto& one) { return one.observer->seen(); });
  if (waiting_) make_sharers_wait();
  flags_ = following;
  drop_executor();
}

void TrainingGraph::make_sharers_wait() {
  for (Node* node : quantizers_of(model_.graph))
    if (leader_of(model_, *node)) set_fake_quant_flags(*node, {});
}

bool TrainingGraph::finds_scales_once() const {
  const auto& all = observing_->quantizers();
  return !std::all_of(all.begin(), all.end(), follows);
}

bool TrainingGraph::take_over(bool following, bool others) {
  bool complete = true;
  for (const ObservedQuantizer& one : observing_->quantizers()) {
    if (!has_seen(one)) {
      complete = false;
    } else if (follows(one) ? following : others) {
      with_context([&] { return concat("at ", one.node->where()); },
                   [&] { one.algorithm->accept(one.observer->qparams(), fake_quant_tensors(*one.node)); });
    }
  }
  return complete;
}

void TrainingGraph::follow_norms() {
  if (flags_.observe)
    norm_scales_->begin();
  else
    norm_scales_->follow();
}

void TrainingGraph::freeze_norms() {
  if (frozen_) return;
  held_.clear();
  run_passes(model_.graph, {"freeze_norms", "infer_shapes"});
  norm_scales_ = std::make_unique<NormScales>(model_.graph);
  frozen_ = true;
  drop_executor();
}

void TrainingGraph::hold_norms(const std::function<bool(const Node&)>& is_held) {
  for (Node* norm : held_) norm->frozen = false;
  held_.clear();
  for (const auto& node : model_.graph.nodes())
    if (node->op() == "BatchNormalization" && !node->frozen && is_held(*node)) held_.push_back(node.get());
  for (Node* norm : held_) norm->frozen = true;
  drop_executor();
}

std::vector<at::Tensor> TrainingGraph::running_statistics() const {
  std::vector<at::Tensor> all;
  for (const Value* value : model_.graph.constants())
    if (is_running(*value)) all.push_back(value->tensor());
  return all;
}

std::vector<Observer*> TrainingGraph::observers_of(bool of_data) const {
  std::vector<Observer*> list;
  for (const ObservedQuantizer& one : observing_->quantizers())
    if (one.from_data == of_data) list.push_back(one.observer.get());
  return list;
}

TensorMap TrainingGraph::observers() const {
  TensorMap all;
  for (const ObservedQuantizer& one : observing_->quantizers())
    if (one.observer->seen())
      for (const auto& [name, tensor] : one.observer->state()) all.emplace(one.node->name() + "/" + name, tensor);
  return all;
}

void TrainingGraph::load_observers(const TensorMap& state) {
  for (const ObservedQuantizer& one : observing_->quantizers()) {
    const std::string prefix = one.node->name() + "/";
    TensorMap own;
    for (auto at = state.lower_bound(prefix); at != state.end() && at->first.starts_with(prefix); ++at)
      own.emplace(at->first.substr(prefix.size()), at->second);
    if (!own.empty()) one.observer->load(own);
  }
}

}  // namespace quench
