// Quantizer: a fake quantizer with its own state, for code that holds no graph.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/fake_quant.h"

namespace quench {

class Quantizer {
 public:
  // `sizes` of the tensor that it will see: what decides the shapes of per-channel state.
  Quantizer(FakeQuantSpec spec, const std::vector<std::int64_t>& sizes, std::unique_ptr<Observer> observer = nullptr);
  ~Quantizer();
  Quantizer(Quantizer&&) noexcept;

  at::Tensor operator()(const at::Tensor& x, const RandomKey& key = {});
  QuantFlags flags;
  bool reconstructing = false;
  void to(const std::string& device);  // "cpu", "cuda": its tensors; they keep their identity
  void calibrated();                   // takes the observer's result over: once, when calibration ends

  const FakeQuantSpec& spec() const;
  Observer* observer() const;
  const FakeQuantTensors& tensors() const;
  std::map<std::string, at::Tensor> parameters() const;       // what learns, by name: for an optimizer
  std::map<std::string, at::Tensor> state() const;            // all tensors, flags and the observer's statistics
  void load(const std::map<std::string, at::Tensor>& state);  // shapes are those of the file

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
