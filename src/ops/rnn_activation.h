// The activation functions that RNN, GRU and LSTM name in their attributes, with alpha, beta and clip.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

struct RnnActivation {
  std::string name;  // in lower case
  double alpha = 0.0, beta = 0.0;
  std::optional<double> clip;  // the argument is kept within [-clip, clip] first

  at::Tensor operator()(const at::Tensor& x) const;
};

// Those of one direction: from the attributes, else the defaults. Throws for an unknown name or too few.
std::vector<RnnActivation> rnn_activations(const Node& node, const std::vector<std::string>& defaults,
                                           std::size_t direction);

}  // namespace quench
