#include "import/trace/state.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <set>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/torch.h"

namespace quench {
namespace {

at::Generator generator_of(const std::vector<StateTensor>& tensors) {
  for (const StateTensor& state : tensors)
    if (!state.tensor.tensor->is_cpu()) return at::globalContext().defaultGenerator(state.tensor.tensor->device());
  return {};
}

}  // namespace

TrainingMode::TrainingMode(torch::nn::Module& module, bool training)
    : module_(module), own_flag_(module.is_training()) {
  for (const auto& inner : module.modules(/*include_self=*/false)) flags_.emplace_back(inner, inner->is_training());
  module.train(training);
}

TrainingMode::~TrainingMode() {
  // train() reaches all submodules, so owners go first.
  module_.train(own_flag_);
  for (const auto& [module, flag] : flags_) module->train(flag);
}

std::vector<StateTensor> state_of(const torch::nn::Module& module) {
  std::vector<StateTensor> result;
  std::set<const c10::TensorImpl*> seen;
  const auto collect = [&](const auto& named, bool is_parameter) {
    for (const auto& item : named)
      if (item.value().defined() && seen.insert(item.value().unsafeGetTensorImpl()).second)
        result.push_back({item.key(), make_tensor_attr(item.value()), is_parameter});
  };
  collect(module.named_parameters(), true);
  collect(module.named_buffers(), false);
  return result;
}

std::map<std::int64_t, std::string> leaves_of(const torch::nn::Module& module) {
  std::map<std::int64_t, std::string> result;
  for (const auto& item : module.named_modules("", /*include_self=*/false))
    if (const auto* leaf = dynamic_cast<const Leaf*>(item.value().get())) result[leaf->number()] = item.key();
  return result;
}

struct ModuleState::Saved {
  explicit Saved(torch::nn::Module& module) : tensors(state_of(module)), mode(module, false) {
    for (const StateTensor& state : tensors) copies.push_back(state.tensor.tensor->detach().clone());
    cpu_random = at::globalContext().defaultGenerator(at::kCPU).get_state();
    if (const at::Generator device = generator_of(tensors); device.defined()) device_random = device.get_state();
  }

  std::vector<StateTensor> tensors;
  std::vector<at::Tensor> copies;
  at::Tensor cpu_random, device_random;
  TrainingMode mode;
};

ModuleState::ModuleState(torch::nn::Module& module) : saved_(std::make_unique<Saved>(module)) {}

ModuleState::~ModuleState() {
  const c10::AutoGradMode no_grad(false);
  for (std::size_t i = 0; i < saved_->tensors.size(); ++i) {
    at::Tensor now = *saved_->tensors[i].tensor.tensor;
    if (!bit_equal(now, saved_->copies[i])) now.copy_(saved_->copies[i]);
  }
  at::Generator cpu = at::globalContext().defaultGenerator(at::kCPU);
  cpu.set_state(saved_->cpu_random);
  if (at::Generator device = generator_of(saved_->tensors); device.defined()) device.set_state(saved_->device_random);
}

const std::vector<StateTensor>& ModuleState::tensors() const { return saved_->tensors; }

void ModuleState::check_unchanged() const {
  for (std::size_t i = 0; i < saved_->tensors.size(); ++i)
    QUENCH_CHECK(bit_equal(*saved_->tensors[i].tensor.tensor, saved_->copies[i]), "the module's forward writes to '",
                 saved_->tensors[i].name, "' in evaluation mode; a graph keeps no state of that kind");
}

}  // namespace quench
