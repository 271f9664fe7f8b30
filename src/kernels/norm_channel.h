// The arithmetic of a live BatchNormalization for one channel (docs/numerics.md 8.1, 8.2), for the CPU and for CUDA.
#pragma once

#include <math.h>

#include <cstdint>

#include "core/host_device.h"

namespace quench {

struct NormFactor {
  float k;     // gamma / sqrt(variance + epsilon)
  float used;  // k, kept away from 0
};

// root: sqrt(variance + epsilon); least: 0, or what `used` keeps from 0.
QUENCH_HD inline NormFactor norm_factor(float gamma, float root, float least) {
  const float k = gamma / root, size = k < 0 ? -k : k;
  return {k, size < least ? (k < 0 ? -least : least) : k};
}

// A layer's weight with its output channels outermost, and the BatchNormalization after it. mean and beta are null
// where the folded bias is not wanted, bias where the layer has none.
struct NormWeightView {
  std::int64_t channels = 0, inner = 0;
  const float *weight = nullptr, *gamma = nullptr, *variance = nullptr;
  const float *mean = nullptr, *beta = nullptr, *bias = nullptr;
  float epsilon = 0, least = 0;
};

// folded and centred (bias - mean) are null with mean. Backward needs root and centred as they were: the statistics
// move on meanwhile.
struct NormWeightResults {
  float *scaled = nullptr, *factor = nullptr, *folded = nullptr;
  float *root = nullptr, *centred = nullptr;
};

// Gradients of the results, null where nobody wants one, and of the inputs (dbeta and dbias are null where
// there is no such input).
struct NormWeightGradients {
  std::int64_t channels = 0, inner = 0;
  const float *weight = nullptr, *gamma = nullptr, *root = nullptr, *centred = nullptr;
  float least = 0;
  const float *dscaled = nullptr, *dfactor = nullptr, *dfolded = nullptr;
  float *dweight = nullptr, *dgamma = nullptr, *dbeta = nullptr, *dbias = nullptr;
};

QUENCH_HD inline float root_at(const NormWeightView& view, std::int64_t c) {
  return sqrtf(view.variance[c] + view.epsilon);
}

QUENCH_HD inline void put_factor(const NormWeightView& view, std::int64_t c, const NormWeightResults& to) {
  const float root = root_at(view, c);
  const NormFactor factor = norm_factor(view.gamma[c], root, view.least);
  to.root[c] = root;
  to.factor[c] = factor.used;
  if (!to.folded) return;
  const float centred = view.bias ? view.bias[c] - view.mean[c] : -view.mean[c];
  to.centred[c] = centred;
  to.folded[c] = centred * factor.k + view.beta[c];
}

QUENCH_HD inline NormFactor factor_at(const NormWeightGradients& of, std::int64_t c) {
  return norm_factor(of.gamma[c], of.root[c], of.least);
}

// product: the sum of dscaled * weight over the channel.
QUENCH_HD inline void put_gradients(const NormWeightGradients& to, std::int64_t c, double product) {
  const NormFactor factor = factor_at(to, c);
  const float dused = static_cast<float>(product) + (to.dfactor ? to.dfactor[c] : 0.0F);
  float dk = factor.used == factor.k ? dused : 0.0F;  // kept away from 0, it does not depend on gamma
  const float dfolded = to.dfolded ? to.dfolded[c] : 0.0F;
  if (to.dfolded) dk += dfolded * to.centred[c];
  to.dgamma[c] = dk / to.root[c];
  if (to.dbeta) to.dbeta[c] = dfolded;
  if (to.dbias) to.dbias[c] = dfolded * factor.k;
}

// What follows the layer: ops/live_norm.cpp. bias and added may be null.
struct LiveNormView {
  std::int64_t channels = 0;
  const float *gamma = nullptr, *k = nullptr, *bias = nullptr, *added = nullptr;
  const float *mean = nullptr, *variance = nullptr;  // of the batch
  float *running_mean = nullptr, *running_variance = nullptr;
  float epsilon = 0, momentum = 0;
  float unbiased_momentum = 0;  // momentum * n / (n - 1)
};

struct LiveNormResults {
  float *weight, *variance, *inverse;  // sign(k) gamma; var' + epsilon k^2; its root's inverse
};

QUENCH_HD inline void put_live_norm(const LiveNormView& view, std::int64_t c, const LiveNormResults& to) {
  const float k = view.k[c], square = k * k, variance = view.variance[c] + square * view.epsilon;
  to.weight[c] = k < 0 ? -view.gamma[c] : view.gamma[c];
  to.variance[c] = variance;
  to.inverse[c] = 1.0F / sqrtf(variance);
  float mean = view.mean[c] / k;
  if (view.bias) mean += view.bias[c];
  if (view.added) mean -= view.added[c] / k;
  const float kept = 1.0F - view.momentum;
  view.running_mean[c] = view.running_mean[c] * kept + mean * view.momentum;
  view.running_variance[c] = view.running_variance[c] * kept + view.variance[c] / square * view.unbiased_momentum;
}

struct LiveNormGradients {
  const float *dweight, *weight, *inverse, *k;
  float epsilon;
  float *dgamma, *dk;
};

QUENCH_HD inline void put_live_norm_gradients(const LiveNormGradients& of, std::int64_t c) {
  const float inverse = of.inverse[c], dweight = of.dweight[c], k = of.k[c];
  of.dgamma[c] = k < 0 ? -dweight : dweight;
  of.dk[c] = dweight * of.weight[c] * (inverse * inverse) * k * -of.epsilon;
}

}  // namespace quench
