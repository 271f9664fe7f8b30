// A quantized model as something that trains: its forward with gradients, its parameters by kind, its switches, and
// everything that training changes as named tensors. What train() and prepare_qat() share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/observing.h"
#include "qat/norm_scales.h"
#include "quench/executor.h"
#include "quench/quantized_model.h"
#include "quench/safetensors.h"

namespace quench {

enum class ParameterKind : std::uint8_t {
  kWeight,     // decays
  kOther,      // biases, gamma and beta of norms
  kScale,      // of a quantizer
  kQuantizer,  // zero points and what else quantizers learn
};

struct TrainedParameter {
  const Value* value = nullptr;
  ParameterKind kind = ParameterKind::kWeight;
};

struct BatchShares;

class TrainingGraph {
 public:
  // Puts the model's parameters and buffers on the device and lets parameters record gradients; at its end both are as
  // they were. The model must outlive it; its graph may be changed through this object only.
  explicit TrainingGraph(QuantizedModel& model, std::string device = "cpu");
  ~TrainingGraph();
  // From now on tensors stay as training leaves them, beyond its end: they belong to a module.
  void leave_tensors();
  // Where the tensors are by now, if their owner has moved them.
  void set_device(const std::string& device);

  // From now on a batch is a share of one that several processes have; outlives this. Null: it is whole.
  void set_shares(const BatchShares* shares) { shares_ = shares; }

  // The graph's outputs for inputs by name, with gradients where the caller's mode records them. Training: batch
  // statistics, dropout; else as deployed.
  std::vector<at::Tensor> forward(const NamedValues& inputs, bool training, std::uint64_t seed = 0,
                                  std::uint64_t step = 0);

  // Counts up whenever what forward executes changes: a captured step is then another.
  std::uint64_t form() const { return form_; }
  void count_batches();  // in the norms, for a step that was replayed instead of run

  std::vector<TrainedParameter> parameters() const;  // in order of name
  TensorMap state() const;                           // parameters, running statistics, constants of quantizers: shared
  void load(const TensorMap& state);                 // the same names and shapes, or it throws

  // While they observe and quantize, quantizers take over what their observers see; those must be refreshable.
  void set_flags(QuantFlags flags);
  // The same with two kinds told apart: those that follow an observer all the time (it is refreshable, and nothing of
  // theirs learns), and the others, whose scale is found once.
  void set_flags(QuantFlags following, QuantFlags others);
  QuantFlags flags() const { return flags_; }  // of the first kind
  bool finds_scales_once() const;              // whether there are any of the second
  // What observers have seen becomes the scales of their quantizers, of either kind. Whether all have seen something.
  bool take_over(bool following, bool others);

  // After a step: scales of weights move with their norms, but for those that follow an observer.
  void follow_norms();
  void freeze_norms();  // for good, as one layer with what is before it
  bool norms_frozen() const { return frozen_; }
  // These keep their statistics until they are let go; all others are let go.
  void hold_norms(const std::function<bool(const Node&)>& is_held);

  std::vector<at::Tensor> running_statistics() const;       // of norms that are not frozen
  std::vector<Observer*> observers_of(bool of_data) const;  // else of what follows from constants: weights
  TensorMap observers() const;                              // what they have seen so far
  void load_observers(const TensorMap& state);

  const Graph& graph() const;
  const std::string& device() const { return device_; }

 private:
  Executor& executor();
  void drop_executor();
  void make_sharers_wait();

  QuantizedModel& model_;
  std::string device_;
  const BatchShares* shares_ = nullptr;
  QuantFlags flags_;
  bool frozen_ = false;
  std::uint64_t form_ = 0;
  bool waiting_ = false;     // quantizers that share a scale are off until it is known
  std::vector<Node*> held_;  // norms
  std::unique_ptr<Observing> observing_;
  std::unique_ptr<NormScales> norm_scales_;
  struct Home;
  std::vector<Home> homes_;
  std::unique_ptr<Graph> running_;  // a copy in the form that runs fastest; tensors are the model's own
  std::unique_ptr<Executor> executor_;
};

}  // namespace quench
