// One layer of a deployed network on codes: the ops of quant/integer_ops.h under a runtime's rule, chosen by the node.
#pragma once

#include <vector>

#include "quant/integer_ops.h"
#include "quench/graph.h"

namespace quench {

// What is known about a layer before any data.
struct LayerForm {
  const Node* node = nullptr;
  std::vector<const QType*> in;  // one per slot; null if that is in float, absent, or no data
  bool float_bias = false;       // a bias that is not in int32 at s_x * s_w
  const QType* y = nullptr;
  Clip clip;  // of the activations between the node and its quantizer
  Requantize rule = Requantize::kMlas;
};

// Whether a runtime of that rule computes the layer from codes; other layers it computes in float.
bool has_integer_form(const LayerForm& form);

// Of a layer that has that form: one tensor of codes for each operand that has a type, in order; the bias int32 or
// undefined.
at::Tensor compute_layer(const LayerForm& form, const std::vector<at::Tensor>& codes, const at::Tensor& bias);

// Codes pass through as they are (MaxPool, Reshape ...): computed in float from what they stand for, they are the same.
bool keeps_codes(const LayerForm& form);

}  // namespace quench
