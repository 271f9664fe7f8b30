// The contract that all fake quantizers share: numerics 5.0.
#include "quench/fake_quant.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "quench/error.h"

namespace quench {
namespace {

// The observers that may be refreshed while quantizing, for messages.
std::string refreshable_observers() {
  std::string names;
  for (const auto& [name, entry] : ObserverRegistry::instance().entries())
    if (entry.item.refreshable) names += (names.empty() ? "" : ", ") + name;
  return names;
}

void observe(const FakeQuant& algorithm, const at::Tensor& x, const FakeQuantTensors& tensors,
             const FakeQuantRun& run) {
  QUENCH_CHECK(run.observer, "a fake quantizer that observes needs an observer, and none was given");
  QUENCH_CHECK(!run.flags.quantize || run.observer->refreshable(), "observer '", run.observer->kind(),
               "' cannot observe and quantize at once; these can: ", refreshable_observers());
  const c10::NoGradGuard no_grad;
  run.observer->observe(algorithm.transform(x.detach().to(at::kFloat)));
  if (run.flags.quantize) algorithm.accept(run.observer->qparams(), tensors);
}

void check_fits(const FakeQuantSpec& spec, const FakeQuantEntry& entry) {
  const std::string& name = spec.algorithm;
  QUENCH_CHECK(entry.for_weights || spec.role != Role::kWeight, "fake quantizer '", name, "' is for activations only");
  QUENCH_CHECK(entry.for_activations || spec.role == Role::kWeight, "fake quantizer '", name, "' is for weights only");
  QUENCH_CHECK(entry.per_channel || spec.scheme.per_tensor(), "fake quantizer '", name,
               "' works per tensor only, not with '", spec.scheme.text(), "'");
  QUENCH_CHECK(std::count(entry.formats.begin(), entry.formats.end(), spec.scheme.format()) > 0, "fake quantizer '",
               name, "' does not take the format of '", spec.scheme.text(), "'");
}

}  // namespace

const at::Tensor& FakeQuantTensors::scale() const { return all.at(0); }
const at::Tensor& FakeQuantTensors::zero_point() const { return all.at(1); }
const at::Tensor& FakeQuantTensors::own(std::size_t index) const { return all.at(index + 2); }

at::Tensor FakeQuant::transform(const at::Tensor& x) const { return x; }

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

std::vector<FakeQuantParam> params_of(const FakeQuantSpec& spec) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(spec.algorithm);
  std::vector<FakeQuantParam> params = {{"scale", ParamShape::kScale, entry.learns_scale, 1.0},
                                        {"zero_point", ParamShape::kScale, entry.learns_zero_point, 0.0}};
  if (!entry.params) return params;
  for (FakeQuantParam& own : entry.params(spec)) params.push_back(std::move(own));
  return params;
}

FakeQuantTensors make_tensors(const FakeQuantSpec& spec, const std::vector<std::int64_t>& sizes) {
  FakeQuantTensors tensors;
  for (const FakeQuantParam& param : params_of(spec)) {
    std::vector<std::int64_t> shape;
    if (param.shape == ParamShape::kInput) shape = sizes;
    if (param.shape == ParamShape::kScale) shape = spec.scheme.scale_shape(sizes);
    tensors.all.push_back(at::full(shape, param.initial, at::kFloat));
    if (param.learnable) tensors.all.back().requires_grad_();
  }
  return tensors;
}

at::Tensor run_fake_quant(const FakeQuant& algorithm, const at::Tensor& x, const FakeQuantTensors& tensors,
                          const FakeQuantRun& run) {
  if ((!run.flags.observe && !run.flags.quantize) || x.numel() == 0) return x;
  const at::ScalarType type = x.scalar_type();
  QUENCH_CHECK(type == at::kFloat || type == at::kHalf || type == at::kBFloat16,
               "a fake quantizer takes float, half or bfloat16 data, not ", type);
  if (run.flags.observe) observe(algorithm, x, tensors, run);
  if (!run.flags.quantize) return x;
  return algorithm.quantize(x.to(at::kFloat), tensors, run.key).to(type);
}

}  // namespace quench
