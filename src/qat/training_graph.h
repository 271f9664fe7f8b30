// A quantized model as something that trains: its forward with gradients, its parameters by kind, its switches, and
// everything that training changes as named tensors. What train() and prepare_qat() share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/observing.h"
#include "quench/executor.h"
#include "quench/quantized_model.h"
#include "quench/safetensors.h"

namespace quench {

enum class ParameterKind : std::uint8_t {
  kWeight,     // decays
  kOther,      // biases, gamma and beta of norms
  kQuantizer,  // scales, zero points and what else quantizers learn
};

struct TrainedParameter {
  const Value* value = nullptr;
  ParameterKind kind = ParameterKind::kWeight;
};

class TrainingGraph {
 public:
  // Puts the model's parameters and buffers on the device and lets parameters record gradients; at its end both are as
  // they were. The model must outlive it; its graph may be changed through this object only.
  explicit TrainingGraph(QuantizedModel& model, std::string device = "cpu");
  ~TrainingGraph();

  // The graph's first outputs for inputs by name. Training: batch statistics, dropout, gradients; else as deployed.
  std::vector<at::Tensor> forward(const NamedValues& inputs, bool training, std::uint64_t seed = 0,
                                  std::uint64_t step = 0);

  std::vector<TrainedParameter> parameters() const;  // in order of name
  TensorMap state() const;                           // parameters, running statistics, constants of quantizers: shared
  void load(const TensorMap& state);                 // the same names and shapes, or it throws

  // While they observe, quantizers take over what their observers see; those must be refreshable.
  void set_flags(QuantFlags flags);
  QuantFlags flags() const { return flags_; }
  void freeze_norms();
  bool norms_frozen() const { return frozen_; }

  TensorMap observers() const;  // what they have seen so far
  void load_observers(const TensorMap& state);

  const Graph& graph() const;
  const std::string& device() const { return device_; }

 private:
  Executor& executor();

  QuantizedModel& model_;
  std::string device_;
  QuantFlags flags_;
  bool frozen_ = false;
  std::unique_ptr<Observing> observing_;
  struct Home;
  std::vector<Home> homes_;
  std::unique_ptr<Graph> running_;  // a copy in the form that runs fastest; tensors are the model's own
  std::unique_ptr<Executor> executor_;
};

}  // namespace quench
