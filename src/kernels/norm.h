// The small arithmetic around a live BatchNormalization (docs/numerics.md 8.1, 8.2), fused: what would be a few dozen
// operations on a handful of numbers each is one loop, on CUDA one kernel.
#pragma once

#include <vector>

namespace at {
class Tensor;
}

namespace quench {

// Undefined: mean and beta where the folded bias is not wanted, bias where there is none.
struct NormWeightIn {
  const at::Tensor &weight, &gamma, &variance, &mean, &beta, &bias;
  double epsilon = 0.0, least = 0.0;  // least: what the factor keeps from 0, or 0
};

// float32 on one device, output channels outermost in memory.
bool fits_norm_weight(const NormWeightIn& in);

// results: weight * k; k; (bias - mean) * k + beta if wanted, with k = gamma / sqrt(variance + epsilon).
// kept: what backward needs besides weight and gamma.
struct NormWeightOut {
  std::vector<at::Tensor> results, kept;
};
NormWeightOut norm_weight_forward(const NormWeightIn& in);

struct NormWeightSaved {
  const at::Tensor &weight, &gamma;
  std::vector<at::Tensor> kept;
  double least = 0.0;
};
// Of weight, gamma and the wanted ones of beta and bias, from those of the results (undefined where there is none).
std::vector<at::Tensor> norm_weight_backward(const std::vector<at::Tensor>& gradients, const NormWeightSaved& saved);

// bias and added may be undefined. The running statistics are moved on.
struct LiveNormIn {
  const at::Tensor &gamma, &k, &bias, &added, &mean, &variance;
  const at::Tensor &running_mean, &running_variance;
  double epsilon = 0.0, momentum = 0.0, count = 0.0;  // count: values per channel
};

bool fits_live_norm(const LiveNormIn& in);

// sign(k) gamma; variance + epsilon k^2; its root's inverse.
std::vector<at::Tensor> live_norm_forward(const LiveNormIn& in);

// Of gamma and k, from that of `weight`.
struct LiveNormBackward {
  const at::Tensor &dweight, &weight, &inverse, &k;
  double epsilon = 0.0;
};
void live_norm_backward(const LiveNormBackward& of, at::Tensor& dgamma, at::Tensor& dk);

}  // namespace quench
