#include "qat/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

using Tensors = std::vector<at::Tensor>;

const std::vector<std::string> kNames = {"sgd", "adam", "adamw"};

// Of the network's rate, for quantizers. The gradient of a scale adds up over all elements that share it, and what it
// moves is small: at the same rate scales overshoot (docs/results.md, Quantization-aware training).
constexpr double kQuantizerRate = 0.1;

// The share of itself by which a scale moves in one step at most: one that passes through 0 never recovers.
constexpr double kMostOfScale = 0.1;

Tensors zeros_like(const Tensors& parameters) {
  Tensors zeros;
  for (const at::Tensor& parameter : parameters) zeros.push_back(at::zeros_like(parameter.detach()));
  return zeros;
}

// Steps of scales, held to a share of each.
class HeldScales {
 public:
  explicit HeldScales(const Tensors& scales) : scales_(scales), before_(at::_foreach_mul(scales, 1.0)) {}
  void hold() {
    Tensors room = at::_foreach_abs(before_);
    at::_foreach_mul_(room, kMostOfScale);
    at::_foreach_clamp_min_(scales_, at::_foreach_sub(before_, room));
    at::_foreach_clamp_max_(scales_, at::_foreach_add(before_, room));
  }

 private:
  Tensors scales_, before_;
};

}  // namespace

void check_optimizer_name(const std::string& name) {
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) fail_unknown_name("optimizer", name, kNames);
}

// The lists of those of a group that have a gradient.
struct Optimizer::Active {
  Tensors parameters, gradients, first, second, steps;
};

// Parameters with the same rate and decay, and what the optimizer keeps for each.
struct Optimizer::Group {
  std::vector<std::string> names;
  Tensors parameters;
  double rate = 0.0, decay = 0.0;
  double rate_now = 0.0;   // by the schedule
  at::Tensor rate_on_gpu;  // the same, if the parameters are on one
  bool is_network = true, is_scale = false;
  Tensors first, second;  // sgd: momentum; adam: mean and variance of gradients
  Tensors steps;          // adam: how many steps each has made

  void make_state(bool is_adam) {
    first = zeros_like(parameters);
    if (!parameters.empty() && parameters[0].is_cuda())
      rate_on_gpu = at::zeros({}, parameters[0].options().dtype(at::kFloat).requires_grad(false));
    if (!is_adam) return;
    second = zeros_like(parameters);
    for (const at::Tensor& parameter : parameters)
      steps.push_back(at::zeros({}, parameter.options().dtype(at::kFloat).requires_grad(false)));
  }

  Active active() const {
    Active list;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor gradient = parameters[i].grad();
      if (!gradient.defined()) continue;
      list.parameters.push_back(parameters[i].detach());
      list.gradients.push_back(gradient);
      list.first.push_back(first[i]);
      if (steps.empty()) continue;
      list.second.push_back(second[i]);
      list.steps.push_back(steps[i]);
    }
    return list;
  }
};

Optimizer::Optimizer(const std::vector<TrainedParameter>& parameters, OptimizerOptions options)
    : options_(std::move(options)) {
  check_optimizer_name(options_.name);
  for (const ParameterKind kind :
       {ParameterKind::kWeight, ParameterKind::kOther, ParameterKind::kScale, ParameterKind::kQuantizer}) {
    auto group = std::make_unique<Group>();
    group->is_scale = kind == ParameterKind::kScale;
    group->is_network = !group->is_scale && kind != ParameterKind::kQuantizer;
    group->rate = group->is_network ? options_.lr : options_.scale_lr.value_or(options_.lr * kQuantizerRate);
    group->decay = kind == ParameterKind::kWeight ? options_.weight_decay : 0.0;
    for (const TrainedParameter& one : parameters) {
      if (one.kind != kind) continue;
      group->names.push_back(one.value->name());
      group->parameters.push_back(one.value->tensor());
    }
    group->make_state(options_.name != "sgd");
    if (!group->parameters.empty()) groups_.push_back(std::move(group));
  }
}

Optimizer::~Optimizer() = default;

void Optimizer::zero_grad() {
  for (const auto& group : groups_)
    for (at::Tensor& parameter : group->parameters) parameter.mutable_grad() = at::Tensor();
}

void Optimizer::clip(double norm) {
  Tensors gradients;
  for (const auto& group : groups_)
    if (group->is_network)
      for (const at::Tensor& gradient : group->active().gradients) gradients.push_back(gradient);
  if (gradients.empty()) return;
  // As a tensor: a GPU is not asked to wait.
  const at::Tensor total = at::stack(at::_foreach_norm(gradients)).norm();
  at::_foreach_mul_(gradients, (norm / (total + 1e-6)).clamp_max(1.0));
}

void Optimizer::set_factor(double factor) {
  for (const auto& group : groups_) {
    group->rate_now = group->rate * factor;
    if (group->rate_on_gpu.defined()) group->rate_on_gpu.fill_(group->rate_now);
  }
}

void Optimizer::step(double factor) {
  set_factor(factor);
  step();
}

void Optimizer::step() {
  const c10::NoGradGuard no_grad;
  for (const auto& group : groups_) {
    if (group->rate_on_gpu.defined())
      step_group(*group, group->rate_on_gpu);
    else
      step_group(*group, group->rate_now);
  }
}

// `rate` is a number or a tensor on the GPU.
template <typename Rate>
void Optimizer::step_group(const Group& group, const Rate& rate) const {
  const Active list = group.active();
  if (list.parameters.empty()) return;
  std::optional<HeldScales> held;
  if (group.is_scale) held.emplace(list.parameters);
  update(group, list, rate);
  if (held) held->hold();
}

template <typename Rate>
void Optimizer::update(const Group& group, const Active& list, const Rate& rate) const {
  if (options_.name == "sgd") {
    // The buffers begin as zeros, so that the first step is like every other (no dampening).
    at::_fused_sgd_(list.parameters, list.gradients, list.first, group.decay, options_.momentum, rate,
                    /*dampening=*/0.0, options_.nesterov && options_.momentum > 0, /*maximize=*/false,
                    /*is_first_step=*/false);
    return;
  }
  at::_foreach_add_(list.steps, 1);
  const auto step_with = [&](const auto& fused) {
    fused(list.parameters, list.gradients, list.first, list.second, at::TensorList(), list.steps, rate, options_.beta1,
          options_.beta2, group.decay, options_.epsilon);
  };
  if (options_.name == "adamw")
    step_with([](const auto&... in) { at::_fused_adamw_(in..., /*amsgrad=*/false, /*maximize=*/false); });
  else
    step_with([](const auto&... in) { at::_fused_adam_(in..., /*amsgrad=*/false, /*maximize=*/false); });
}

TensorMap Optimizer::state() const {
  TensorMap state;
  for (const auto& group : groups_)
    for (std::size_t i = 0; i < group->names.size(); ++i) {
      state.emplace(group->names[i] + "/first", group->first[i]);
      if (group->steps.empty()) continue;
      state.emplace(group->names[i] + "/second", group->second[i]);
      state.emplace(group->names[i] + "/steps", group->steps[i]);
    }
  return state;
}

void Optimizer::load(const TensorMap& given) {
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : state()) {
    const auto found = given.find(name);
    QUENCH_CHECK(found != given.end() && found->second.sizes() == tensor.sizes(),
                 "the optimizer's state belongs to another model or optimizer: '", name,
                 "' is missing or has another shape");
    at::Tensor(tensor).copy_(found->second);
  }
}

}  // namespace quench
