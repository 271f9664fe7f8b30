// GPTQ (Frantar et al. 2022, algorithm 1): a weight is rounded input by input, and each error is made up for by the
// inputs that are still to come, as far as the layer's inputs depend on each other. Here it is where learned rounding
// may begin.
#pragma once

#include <optional>

#include "quench/ptq_method.h"

namespace quench {

// The quantizer's weight rounded like that, on the quantizer's grid, for what its layer reads in the quantized network.
// Nothing for layers other than convolutions over one or two axes and products with a matrix.
std::optional<at::Tensor> gptq_rounding(UnitWork& work, const Node& quantizer);

}  // namespace quench
