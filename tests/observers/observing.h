// Small helpers of the observer tests.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "quench/error.h"
#include "quench/observer.h"
#include "support/message_of.h"

namespace quench {

inline std::unique_ptr<Observer> observer_of(const std::string& name, const std::string& scheme,
                                             const Options& options = {}) {
  return make_observer(name, QScheme::parse(scheme), options);
}

inline QParams observed(const std::string& name, const std::string& scheme, const std::vector<at::Tensor>& batches,
                        const Options& options = {}) {
  const std::unique_ptr<Observer> observer = observer_of(name, scheme, options);
  for (const at::Tensor& batch : batches) observer->observe(batch);
  return observer->qparams();
}

// Half of the batches each, merged.
inline QParams merged(const std::string& name, const std::string& scheme, const std::vector<at::Tensor>& batches,
                      const Options& options = {}) {
  const std::unique_ptr<Observer> first = observer_of(name, scheme, options);
  const std::unique_ptr<Observer> second = observer_of(name, scheme, options);
  for (std::size_t i = 0; i < batches.size(); ++i) (2 * i < batches.size() ? first : second)->observe(batches[i]);
  first->merge(*second);
  return first->qparams();
}

// Mean squared error of quantizing x, by ATen.
inline double error_of(const at::Tensor& x, const QParams& params, const QScheme& scheme) {
  const at::Tensor y = at::fake_quantize_per_tensor_affine(x.contiguous(), params.scale[0], params.zero_point[0],
                                                           scheme.qmin(), scheme.qmax());
  return (y - x).to(at::kDouble).pow(2).mean().item<double>();
}

}  // namespace quench
