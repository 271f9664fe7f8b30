// The contract that all fake quantizers share: numerics 5.0.
#include "quench/fake_quant.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "quench/error.h"

namespace quench {
namespace {

void observe(const FakeQuant& algorithm, const at::Tensor& x, const FakeQuantTensors& tensors, Observer* observer) {
  const FakeQuantSpec& spec = algorithm.spec();
  QUENCH_CHECK(observer, "a fake quantizer that observes needs an observer, and none was given");
  QUENCH_CHECK(!spec.quantize || observer->refreshable(), "observer '", observer->kind(),
               "' cannot observe and quantize at once; min_max, ema_min_max and lsq can");
  const c10::NoGradGuard no_grad;
  observer->observe(algorithm.observed(x.detach()));
  if (spec.quantize) algorithm.accept(observer->qparams(), tensors);
}

void check_fits(const FakeQuantSpec& spec, const FakeQuantEntry& entry) {
  const std::string& name = spec.algorithm;
  QUENCH_CHECK(entry.for_weights || spec.role != Role::kWeight, "fake quantizer '", name, "' is for activations only");
  QUENCH_CHECK(entry.for_activations || spec.role == Role::kWeight, "fake quantizer '", name, "' is for weights only");
  QUENCH_CHECK(entry.per_channel || spec.scheme.per_tensor(), "fake quantizer '", name,
               "' works per tensor only, not with '", spec.scheme.text(), "'");
}

}  // namespace

const at::Tensor& FakeQuantTensors::scale() const { return all.at(0); }
const at::Tensor& FakeQuantTensors::zero_point() const { return all.at(1); }
const at::Tensor& FakeQuantTensors::own(std::size_t index) const { return all.at(index + 2); }

at::Tensor FakeQuant::observed(const at::Tensor& x) const { return x; }

void FakeQuant::accept(const QParams& params, const FakeQuantTensors& tensors) const {
  const c10::NoGradGuard no_grad;
  const at::Tensor scale = at::tensor(params.scale), zero = at::tensor(params.zero_point, at::kFloat);
  QUENCH_CHECK(scale.numel() == tensors.scale().numel(), "the observer found ", scale.numel(),
               " scales, the quantizer has ", tensors.scale().numel());
  tensors.scale().copy_(scale.reshape(tensors.scale().sizes()));
  tensors.zero_point().copy_(zero.reshape(tensors.zero_point().sizes()));
}

std::unique_ptr<FakeQuant> make_fake_quant(const FakeQuantSpec& spec) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(spec.algorithm);
  check_fits(spec, entry);
  FakeQuantSpec checked = spec;
  checked.options = spec.options.checked(entry.options, "fake quantizer '" + spec.algorithm + "'");
  return entry.make(checked);
}

at::Tensor run_fake_quant(const FakeQuant& algorithm, const at::Tensor& x, const FakeQuantTensors& tensors,
                          Observer* observer, const RandomKey& key) {
  const FakeQuantSpec& spec = algorithm.spec();
  if ((!spec.observe && !spec.quantize) || x.numel() == 0) return x;
  const at::ScalarType type = x.scalar_type();
  QUENCH_CHECK(type == at::kFloat || type == at::kHalf || type == at::kBFloat16,
               "a fake quantizer takes float, half or bfloat16 data, not ", type);
  if (spec.observe) observe(algorithm, x, tensors, observer);
  if (!spec.quantize) return x;
  return algorithm.quantize(x.to(at::kFloat), tensors, key).to(type);
}

}  // namespace quench
