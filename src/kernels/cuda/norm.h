// kernels/norm.h on CUDA, on raw memory: one launch each.
#pragma once

#include "kernels/norm_channel.h"

namespace quench {

void cuda_norm_weight(const NormWeightView& view, const NormWeightResults& to);
void cuda_norm_weight_backward(const NormWeightGradients& of);
void cuda_live_norm(const LiveNormView& view, const LiveNormResults& to);
void cuda_live_norm_backward(std::int64_t channels, const LiveNormGradients& of);

}  // namespace quench
