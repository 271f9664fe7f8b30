// Which layers of a quantized network a target computes from codes.
#pragma once

#include <string>
#include <vector>

#include "quant/requantize.h"
#include "quench/graph.h"

namespace quench {

// What is known about a layer before any data.
struct LayerForm {
  const Node* node = nullptr;    // the float operator
  std::vector<const QType*> in;  // one per slot; null if that is in float, absent, or no data
  bool float_bias = false;       // a bias that is not in int32 at s_x * s_w, and is not to be rounded
  const QType* y = nullptr;
  Clip clip;  // of the activations between the node and its quantizer
  Requantize rule = Requantize::kMlas;
};

// "" if a target of that rule computes the layer from codes; else why it does so in float.
std::string why_float(const LayerForm& form);

}  // namespace quench
