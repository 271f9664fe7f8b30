// PyTorch's eager verbs for post-training quantization, over the graph path: stubs, FloatFunctional, fuse_modules,
// prepare, a calibration loop of the user's own. The module given is never changed. quench/qat.h goes on with training
// and convert; docs/eager.md goes through the calls one by one.
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
#include <initializer_list>
#include <iosfwd>

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
        dequant_(register_module("dequant", std::make_shared<DeQuantStub>())) {
    if (!module_->is_training()) this->eval();  // in its mode, as in torch
  }
  at::Tensor forward(const at::Tensor& x) { return dequant_->forward(module_->forward(quant_->forward(x))); }

 private:
  std::shared_ptr<QuantStub> quant_;
  std::shared_ptr<M> module_;
  std::shared_ptr<DeQuantStub> dequant_;
};

using FuseLists = std::vector<std::vector<std::string>>;

// A module with what PyTorch keeps in its attributes. Copies share the module.
class EagerModel {
 public:
  // A shared pointer to a module, or a ModuleHolder; inputs and options as for from_module. Only dim 0, the batch, may
  // change, unless the options say otherwise: {.dynamic_dims = {{{0, "N"}, {2, "H"}, {3, "W"}}}}. A member `qconfig` of
  // the module is that of the whole model; its member fuse_model([is_qat]) gives the lists that quench::fuse_model
  // takes.
  template <typename M>
  EagerModel(const M& module, std::vector<at::Tensor> example_inputs, ModuleImportOptions options = {})
      : examples_(std::move(example_inputs)), options_(std::move(options)) {
    const auto inner = [&] {
      if constexpr (requires { module.ptr(); })
        return module.ptr();
      else
        return module;
    }();
    module_ = inner;
    if constexpr (requires { qconfig.set_global(inner->qconfig); }) qconfig.set_global(inner->qconfig);
    if constexpr (requires { FuseLists(inner->fuse_model(std::optional<bool>())); })
      own_lists_ = [inner](std::optional<bool> is_qat) { return inner->fuse_model(is_qat); };
    else if constexpr (requires { FuseLists(inner->fuse_model(true)); })
      own_lists_ = [inner](std::optional<bool> is_qat) {
        return inner->fuse_model(is_qat.value_or(inner->is_training()));
      };
    else if constexpr (requires { FuseLists(inner->fuse_model()); })
      own_lists_ = [inner](std::optional<bool>) { return inner->fuse_model(); };
    forward_ = [inner](const std::vector<at::Tensor>& inputs) { return detail::forward_tensors(*inner, inputs); };
  }

  QConfigMapping qconfig;
  FuseLists fused;  // by fuse_modules

  std::vector<ModuleInfo> modules() const;  // as they are now
  const torch::nn::Module& module() const { return *module_; }
  FuseLists own_lists(std::optional<bool> is_qat) const;  // of the module's fuse_model; throws if it has none
  Graph trace() const;                                    // in evaluation mode; tensors are copies
  Graph trace_shared() const;  // the same with the module's own tensors: what trains one trains the other

 private:
  std::shared_ptr<torch::nn::Module> module_;
  ModuleForward forward_;
  std::function<FuseLists(std::optional<bool>)> own_lists_;
  std::vector<at::Tensor> examples_;
  ModuleImportOptions options_;
};

// As PyTorch prints a module after fusing: the first of each list as ConvReLU2d with its parts, the others as Identity.
std::ostream& operator<<(std::ostream& stream, const EagerModel& model);

// Chains of submodules that count as one layer: Conv, ConvTranspose or Linear, then BatchNorm, then ReLU or ReLU6, each
// step optional; or BatchNorm and ReLU. With a BatchNorm among them the module must be in eval mode, or in train
// mode with `is_qat` (unset: as the module is). The same chains elsewhere are fused without being named.
EagerModel fuse_modules(const EagerModel& model, const FuseLists& lists, std::optional<bool> is_qat = false);
EagerModel fuse_modules_qat(const EagerModel& model, const FuseLists& lists);
void fuse_modules_in_place(EagerModel& model, const FuseLists& lists, std::optional<bool> is_qat = false);
// One list, as torch also takes it: {"conv", "bn"}.
using FuseList = std::initializer_list<const char*>;
EagerModel fuse_modules(const EagerModel& model, FuseList list, std::optional<bool> is_qat = false);
EagerModel fuse_modules_qat(const EagerModel& model, FuseList list);
void fuse_modules_in_place(EagerModel& model, FuseList list, std::optional<bool> is_qat = false);
// The lists of the module's own fuse_model, in place.
void fuse_model(EagerModel& model, std::optional<bool> is_qat = std::nullopt);

// A float copy of the model whose forward is watched, until finish(); then the forward of the quantized model.
class PreparedModel {
 public:
  explicit PreparedModel(QuantizedModel prepared, const EagerModel* source = nullptr);  // source: to print it
  ~PreparedModel();
  PreparedModel(PreparedModel&&) noexcept;

  at::Tensor forward(const at::Tensor& x);  // of a model with one input and one output
  std::vector<at::Tensor> forward_all(const std::vector<at::Tensor>& inputs);

  // What the observer 'recording' of this value of the graph kept so far; before finish().
  std::vector<at::Tensor> recorded(const std::string& value) const;
  void finish();  // takes over what was observed; throws if a quantizer saw nothing, naming it
  bool finished() const;
  const QuantizedModel& model() const;  // to deploy, once finished
  const Graph& graph() const;
  const QuantPlan& plan() const;
  // As PyTorch prints it: ConvReLU2d with the observers of what it writes, after finish() with its quantizers.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
std::ostream& operator<<(std::ostream& stream, const PreparedModel& model);

// Throws for a module in training mode, and if nothing has a qconfig.
PreparedModel prepare(const EagerModel& model);
template <typename M>
PreparedModel prepare(const M& module, const std::vector<at::Tensor>& example_inputs, const QConfig& qconfig,
                      const ModuleImportOptions& options = {}) {
  EagerModel model(module, example_inputs, options);
  model.qconfig.set_global(qconfig);
  return prepare(model);
}

}  // namespace quench
