// What follows a convolution at inference, in one pass over its result: y = clamp(y + bias + residual).
#pragma once

#include <limits>

namespace at {
class Tensor;
}

namespace quench {

struct ConvFinish {
  const at::Tensor &bias, &residual;  // one element per channel, and like y; undefined: none
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

// In place, on float data with channels as the second axis. A NaN stays one.
void finish_conv(at::Tensor& y, const ConvFinish& finish);

}  // namespace quench
