// PyTorch's eager verbs for post-training quantization, over the graph path: stubs, FloatFunctional, fuse_modules,
// prepare, a calibration loop of the user's own, quantize. The module given is never changed.
//
//   quench::EagerModel model(net, {example});
//   model.qconfig.set_global(quench::get_default_qconfig("fbgemm")).set_module_name("fc", std::nullopt);
//   model = quench::fuse_modules(model, {{"conv", "bn", "relu"}});
//   quench::PreparedModel prepared = quench::prepare(model);
//   for (const at::Tensor& batch : batches) prepared.forward(batch);
//   prepared.finish();
//   const at::Tensor logits = prepared.forward(image);  // as the integers will compute it
#pragma once

#include <functional>

#include "quench/prepare.h"
#include "quench/qconfig.h"
#include "quench/torch.h"

namespace quench {

// QuantStub before and DeQuantStub after a module with one input and one output.
template <typename M>
class QuantWrapper : public torch::nn::Module {
 public:
  explicit QuantWrapper(std::shared_ptr<M> inner)
      : quant_(register_module("quant", std::make_shared<QuantStub>())),
        module_(register_module("module", std::move(inner))),
        dequant_(register_module("dequant", std::make_shared<DeQuantStub>())) {}
  at::Tensor forward(const at::Tensor& x) { return dequant_->forward(module_->forward(quant_->forward(x))); }

 private:
  std::shared_ptr<QuantStub> quant_;
  std::shared_ptr<M> module_;
  std::shared_ptr<DeQuantStub> dequant_;
};

// A module with what PyTorch keeps in its attributes. Copies share the module.
class EagerModel {
 public:
  // A shared pointer to a module, or a ModuleHolder; inputs as for from_module.
  template <typename M>
  EagerModel(const M& module, std::vector<at::Tensor> example_inputs) : examples_(std::move(example_inputs)) {
    const auto inner = [&] {
      if constexpr (requires { module.ptr(); })
        return module.ptr();
      else
        return module;
    }();
    module_ = inner;
    forward_ = [inner](const std::vector<at::Tensor>& inputs) { return detail::forward_tensors(*inner, inputs); };
  }

  QConfigMapping qconfig;
  std::vector<std::vector<std::string>> fused;  // by fuse_modules

  std::vector<ModuleInfo> modules() const;  // as they are now
  Graph trace() const;                      // in evaluation mode; tensors are copies

 private:
  std::shared_ptr<torch::nn::Module> module_;
  ModuleForward forward_;
  std::vector<at::Tensor> examples_;
};

// Chains of submodules that count as one layer: Conv, ConvTranspose or Linear, then BatchNorm, then ReLU or ReLU6, each
// step optional; or BatchNorm and ReLU. With a BatchNorm among them the module must be in eval mode, or in train
// mode with `is_qat` (unset: as the module is). The same chains elsewhere are fused without being named.
EagerModel fuse_modules(const EagerModel& model, const std::vector<std::vector<std::string>>& lists,
                        std::optional<bool> is_qat = false);
void fuse_modules_in_place(EagerModel& model, const std::vector<std::vector<std::string>>& lists,
                           std::optional<bool> is_qat = false);

// A float copy of the model whose forward is watched, until finish(); then the forward of the quantized model.
class PreparedModel {
 public:
  explicit PreparedModel(QuantizedModel prepared);
  ~PreparedModel();
  PreparedModel(PreparedModel&&) noexcept;

  at::Tensor forward(const at::Tensor& x);  // of a model with one input and one output
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs);

  void finish();  // takes over what was observed; throws if a quantizer saw nothing, naming it
  bool finished() const;
  const QuantizedModel& model() const;  // to deploy, once finished
  const Graph& graph() const;
  const QuantPlan& plan() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws for a module in training mode, and if nothing has a qconfig.
PreparedModel prepare(const EagerModel& model);
template <typename M>
PreparedModel prepare(const M& module, const std::vector<at::Tensor>& example_inputs, const QConfig& qconfig) {
  EagerModel model(module, example_inputs);
  model.qconfig.set_global(qconfig);
  return prepare(model);
}

// Prepares a copy in eval mode, whatever mode the module is in, lets `run_fn` feed it data, and finishes it.
PreparedModel quantize(const EagerModel& model, const std::function<void(PreparedModel&)>& run_fn);

}  // namespace quench
