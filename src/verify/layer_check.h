// A deployed file layer by layer: its codes, as a runner saw them, against the network in integers.
#pragma once

#include <string>
#include <vector>

#include "quant/requantize.h"
#include "quench/executor.h"
#include "quench/verify.h"
#include "verify/deployed_model.h"
#include "verify/integer_network.h"

namespace quench {

// Items that a runner is given in one call.
struct Call {
  std::vector<NamedValues> slices;  // of one size each, as it feeds them
  std::int64_t items = 0;           // that count
  std::int64_t fed = 0;             // with the copies that pad a fixed batch

  // Without the copies. A tensor whose first axis does not count items keeps them.
  at::Tensor trimmed(const at::Tensor& joined) const;
};

class LayerCheck {
 public:
  // Writes the file with its codes exposed to `tapped`. The model must outlive it.
  LayerCheck(const DeployedModel& model, Requantize rule, const std::string& tapped);

  const std::string& file() const { return file_; }
  std::vector<TensorResult> tensors() const;  // without differences, in order of the network

  // What a runner made of the tapped file, into `tensors`; gives the outputs of the network in integers.
  NamedValues add(const Call& call, const NamedValues& found, std::vector<TensorResult>& tensors);

 private:
  IntegerNetwork::Codes codes_of(const NamedValues& found, std::size_t slice, std::size_t slices) const;

  const DeployedModel& model_;
  IntegerNetwork network_;
  std::string file_;
};

}  // namespace quench
