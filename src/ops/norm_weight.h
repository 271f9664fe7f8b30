// Where the output channels of a layer lie in its weight, for code that scales them.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace quench {

class Node;

struct ChannelPlace {
  int axis = 0;            // of the weight
  std::int64_t group = 1;  // a grouped ConvTranspose has its groups in dim 0, with the inputs
};
ChannelPlace channel_place(const Node& layer);  // of a Conv, ConvTranspose or Gemm

std::int64_t channels_of(const at::Tensor& weight, const ChannelPlace& place);
// weight * k, one k for each output channel.
at::Tensor scale_channels(const at::Tensor& weight, const at::Tensor& k, const ChannelPlace& place);

// Below this a factor cannot be divided by: docs/numerics.md 8.2.
inline constexpr double kLeastNormFactor = 1e-5;

}  // namespace quench
