// PyTorch's eager verbs that train and convert: prepare_qat gives a torch::nn::Module with quantizers in it, which
// trains with your own loop, optimizer and data. Its float parameters are those of your module, so training one trains
// the other. docs/eager.md goes through the calls one by one.
//
//   net->train();
//   auto q = quench::prepare_qat(net, {example}, quench::get_default_qat_qconfig("fbgemm"));
//   torch::optim::SGD optimizer(q->parameters(), 0.01);
//   for (...) { optimizer.zero_grad(); loss(q->forward(x), y).backward(); optimizer.step(); }
//   q->eval();
//   quench::QuantizedModel integers = quench::convert(*q);
//   quench::Deployment files = quench::deploy(q->model());
#pragma once

#include <iosfwd>
#include <set>

#include "quench/convert.h"
#include "quench/eager.h"
#include "quench/heads.h"

namespace quench {

class TrainingGraph;
struct ModuleText;

// Parameters: the module's own, under their names; then what quantizers learn ("conv.weight_fake_quant.scale" for the
// value "conv.weight" of the graph, "fc.activation_post_process.scale" for the activation "fc"). Buffers: the module's
// own, and what quantizers do not learn. They are one with those of the graph: to(device), torch::save and torch::load
// work as for any module, and saved with them is what observers have seen.
//
// Quantizers whose observer is refreshable ("ema_min_max") and that learn nothing ("fixed") follow it in every forward
// of training. The others ("lsq") find their scale once: from the first batch of training, or from the batches that are
// forwarded before that with fake quantization disabled.
class QatModule : public torch::nn::Module {
 public:
  // Any model with quantizers, prepared or calibrated. Parameters and buffers of the module in `source`, if the graph
  // was made from it and shares its tensors, are all registered, those that the graph does not use too; frozen ones
  // stay frozen. Without one, all weights and biases of the graph learn.
  explicit QatModule(QuantizedModel model, const EagerModel* source = nullptr);
  ~QatModule() override;

  at::Tensor forward(const at::Tensor& x);  // of a model with one input and one output
  std::vector<at::Tensor> forward_all(const std::vector<at::Tensor>& inputs);

  // mmrazor's modes, "tensor", "predict" and "loss", on the one graph (quench/heads.h); set_head() adds or replaces
  // one. Not an overload: torch::nn::Sequential takes modules with one forward only.
  std::vector<at::Tensor> forward_mode(const std::vector<at::Tensor>& inputs, const std::string& mode,
                                       const std::vector<at::Tensor>& targets = {});
  void set_head(const std::string& name, Head head) { heads_.set(name, std::move(head)); }

  // In training BatchNorm takes the statistics of the batch, and observers see it; in evaluation neither does.
  void enable_observer();
  void disable_observer();
  void enable_fake_quant();
  void disable_fake_quant();
  // Norms that were in evaluation mode when the module was prepared begin frozen.
  void freeze_bn_stats();  // of all norms; gamma and beta still learn
  void update_bn_stats();  // the statistics of batches again, in all norms

  // What quantizers learn, and all others of parameters(): scales want a rate of their own and no decay.
  std::vector<at::Tensor> quantizer_parameters() const;
  std::vector<at::Tensor> network_parameters() const;

  // As it is now, "trained": a copy with tensors of its own on the CPU, to deploy, evaluate or save. Throws while a
  // quantizer has no scale.
  QuantizedModel model() const;
  const Graph& graph() const;
  const QuantPlan& plan() const;
  // As PyTorch prints it: ConvBnReLU2d with its fake quantizers.
  std::string text() const;

  void save(torch::serialize::OutputArchive& archive) const override;
  // Throws, and changes no tensor, unless all have the names, shapes and types that they have here.
  void load(torch::serialize::InputArchive& archive) override;

 private:
  enum class Held : std::int64_t { kNone, kAll, kAsPrepared };  // norms; numbers are in files
  friend std::string print_converted(const QatModule& source, const QuantizedModel& converted);
  void register_tensors(const torch::nn::Module* owner);
  void follow_device();
  void hold_norms(Held held);
  void set_flags();
  void find_scales(const NamedValues& inputs);
  bool has_scales();
  void note_switches();

  std::unique_ptr<QuantizedModel> model_;
  std::unique_ptr<ModuleText> text_;  // of the module; null without one
  std::unique_ptr<TrainingGraph> training_;
  Heads heads_;
  std::set<std::string> frozen_norms_;  // when the module was prepared
  Held held_ = Held::kNone;
  bool observer_ = true, fake_quant_ = true, has_scales_ = false;
  int flags_set_ = -1;   // those that the graph has now
  at::Tensor switches_;  // observer, fake quantization, norms held, scales known: as a buffer
  std::uint64_t seed_ = 0, step_ = 0;
};

// Throws unless the module is in training mode, and if nothing has a qconfig. Norms inside may be in evaluation mode.
std::shared_ptr<QatModule> prepare_qat(const EagerModel& model);
template <typename M>
std::shared_ptr<QatModule> prepare_qat(const M& module, const std::vector<at::Tensor>& example_inputs,
                                       const QConfig& qconfig, const ModuleImportOptions& options = {}) {
  EagerModel model(module, example_inputs, options);
  model.qconfig.set_global(qconfig);
  return prepare_qat(model);
}

std::ostream& operator<<(std::ostream& stream, const QatModule& module);

// Integers, with the codes that the weights have in training.
QuantizedModel convert(const QatModule& module, const ConvertOptions& options = {}, ConvertRecord* record = nullptr);
// Finishes the model, if that was not done yet.
QuantizedModel convert(PreparedModel& model, const ConvertOptions& options = {}, ConvertRecord* record = nullptr);

// prepare, `run_fn` feeds it data, convert. The module may be in either mode, and stays in it.
QuantizedModel quantize(const EagerModel& model, const std::function<void(PreparedModel&)>& run_fn,
                        const ConvertOptions& options = {});
// prepare_qat on a copy in training mode, `run_fn` trains it, convert. The module is not changed.
QuantizedModel quantize_qat(const EagerModel& model, const std::function<void(QatModule&)>& run_fn,
                            const ConvertOptions& options = {});

// print_converted in the shape of the module: what was fused is Identity, stubs are Quantize and DeQuantize; what has
// no module of its own comes last, by node.
std::string print_converted(const EagerModel& source, const QuantizedModel& converted);
std::string print_converted(const QatModule& source, const QuantizedModel& converted);

// The weight of a layer of a converted model, by the layer's name: torch's weight() of a quantized module.
struct ConvertedWeight {
  at::Tensor codes;  // int8, one code per element whatever its bits
  QScheme scheme;
  QParams params;

  caffe2::TypeMeta dtype() const { return codes.dtype(); }
  at::ScalarType scalar_type() const { return codes.scalar_type(); }
  std::int64_t element_size() const { return codes.element_size(); }
  at::Tensor dequantize() const;
};
ConvertedWeight weight(const QuantizedModel& converted, const std::string& layer);

}  // namespace quench
