// The contract that all fake quantizers share: docs/numerics.md 5.0.
#include "quench/fake_quant.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "kernels/affine/bfloat16.h"
#include "quant/code_tensor.h"
#include "quant/scale_rule.h"
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
  QUENCH_CHECK(run.observer->scheme() == algorithm.scheme(), "the observer is for '", run.observer->scheme().text(),
               "', the fake quantizer for '", algorithm.scheme().text(), "'");
  QUENCH_CHECK(!run.flags.quantize || run.observer->refreshable(), "observer '", run.observer->kind(),
               "' cannot observe and quantize at once; these can: ", refreshable_observers());
  const c10::NoGradGuard no_grad;
  const at::Tensor data = x.detach().to(at::kFloat);
  run.observer->observe(x.numel() == 0 ? data : algorithm.transform(data));
  if (run.flags.quantize && run.observer->seen()) algorithm.accept(run.observer->qparams(), tensors);
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

FakeQuantSpec with_checked_options(const FakeQuantSpec& spec, const FakeQuantEntry& entry) {
  FakeQuantSpec checked = spec;
  const Options options = spec.options.checked(entry.options, "fake quantizer '" + spec.algorithm + "'");
  for (const auto& [name, value] : options.values()) {
    // Numbers as files keep them (ONNX attributes are float32), so that a reloaded run is the same run.
    const auto* number = std::get_if<double>(&value);
    checked.options.set(name, number ? OptionValue(static_cast<double>(static_cast<float>(*number))) : value);
  }
  return checked;
}

std::vector<std::int64_t> shape_for(const FakeQuantParam& param, const QScheme& scheme,
                                    const std::vector<std::int64_t>& sizes) {
  switch (param.shape) {
    case ParamShape::kScalar: return {};
    case ParamShape::kScale: return scheme.scale_shape(sizes);
    case ParamShape::kInput: return sizes;
  }
  return {};
}

void check_shapes(const FakeQuantSpec& spec, const FakeQuantTensors& tensors, const std::vector<std::int64_t>& sizes) {
  const std::vector<FakeQuantParam> params = params_of(spec);
  QUENCH_CHECK(tensors.all.size() == params.size(), "'", spec.algorithm, "' takes ", params.size(),
               " tensors besides x, not ", tensors.all.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const at::Tensor& tensor = tensors.all[i];
    QUENCH_CHECK(tensor.scalar_type() == at::kFloat, "'", params[i].name, "' must be float, not ",
                 tensor.scalar_type());
    if (tensor.numel() == 1 && params[i].shape != ParamShape::kInput) continue;
    const std::vector<std::int64_t> shape = shape_for(params[i], spec.scheme, sizes);
    QUENCH_CHECK(tensor.sizes() == at::IntArrayRef(shape), "'", params[i].name, "' has the shape ", tensor.sizes(),
                 "; for data of ", at::IntArrayRef(sizes), " and the scheme '", spec.scheme.text(), "' it must be ",
                 at::IntArrayRef(shape));
  }
}

// In one loop; an observer must see what lies between.
bool takes_relu_too(const FakeQuant& algorithm, const at::Tensor& x, const QuantFlags& flags) {
  return flags.quantize && !flags.observe && algorithm.takes_relu() && x.is_cuda() && x.scalar_type() == at::kFloat &&
         x.numel() > 0;
}

bool all_of(const at::Tensor& condition) { return condition.all().item<bool>(); }

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

QParams FakeQuant::deployed(const FakeQuantTensors& tensors) const {
  const at::Tensor scale = tensors.scale().detach().cpu().contiguous(), zero = tensors.zero_point().detach().cpu();
  QParams params;
  for (std::int64_t i = 0; i < scale.numel(); ++i) {
    const float used = std::max(std::abs(scale.data_ptr<float>()[i]), kScaleFloor);
    params.scale.push_back(scheme().power_of_two_scale() ? nearest_power_of_two(used) : used);
  }
  at::Tensor codes = at::zeros_like(zero);
  if (scheme().is_int() && !scheme().symmetric()) codes = nearest_codes(zero, {}, code_range(scheme()));
  codes = codes.to(at::kInt).contiguous();
  params.zero_point.assign(codes.data_ptr<int>(), codes.data_ptr<int>() + codes.numel());
  return params;
}

std::unique_ptr<FakeQuant> make_fake_quant(const FakeQuantSpec& spec) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(spec.algorithm);
  check_fits(spec, entry);
  return entry.make(with_checked_options(spec, entry));
}

std::vector<FakeQuantParam> params_of(const FakeQuantSpec& spec) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(spec.algorithm);
  std::vector<FakeQuantParam> params = {{"scale", ParamShape::kScale, entry.learns_scale, 1.0},
                                        {"zero_point", ParamShape::kScale, entry.learns_zero_point, 0.0}};
  if (!entry.params) return params;
  for (FakeQuantParam& own : entry.params(with_checked_options(spec, entry))) params.push_back(std::move(own));
  return params;
}

FakeQuantTensors make_tensors(const FakeQuantSpec& spec, const std::vector<std::int64_t>& sizes) {
  FakeQuantTensors tensors;
  for (const FakeQuantParam& param : params_of(spec)) {
    tensors.all.push_back(at::full(shape_for(param, spec.scheme, sizes), param.initial, at::kFloat));
    if (param.learnable) tensors.all.back().requires_grad_();
  }
  return tensors;
}

void check_values(const FakeQuantSpec& spec, const FakeQuantTensors& tensors) {
  const std::vector<FakeQuantParam> params = params_of(spec);
  for (std::size_t i = 0; i < params.size(); ++i)
    QUENCH_CHECK(all_of(tensors.all.at(i).isfinite()), "'", params[i].name, "' holds a NaN or an infinity");
  if (!params[0].learnable)
    QUENCH_CHECK(all_of(tensors.scale() > 0), "a scale is ", tensors.scale().min().item<float>(),
                 ": scales must be positive");
  if (params[1].learnable || !spec.scheme.is_int()) return;
  const at::Tensor zero = tensors.zero_point();
  const int low = spec.scheme.symmetric() ? 0 : spec.scheme.qmin(),
            high = spec.scheme.symmetric() ? 0 : spec.scheme.qmax();
  QUENCH_CHECK(all_of((zero == zero.round()) & (zero >= low) & (zero <= high)), "a zero point is not a code of '",
               spec.scheme.text(), "': integers from ", low, " to ", high, " are");
}

at::Tensor run_fake_quant(const FakeQuant& algorithm, const at::Tensor& x, const FakeQuantTensors& tensors,
                          const FakeQuantRun& run) {
  if (run.after_relu && !takes_relu_too(algorithm, x, run.flags)) {
    FakeQuantRun after = run;
    after.after_relu = false;
    return run_fake_quant(algorithm, at::relu(x), tensors, after);
  }
  if (!run.flags.observe && (!run.flags.quantize || x.numel() == 0)) return x;
  const at::ScalarType type = x.scalar_type();
  QUENCH_CHECK(type == at::kFloat || type == at::kHalf || type == at::kBFloat16,
               "a fake quantizer takes float, half or bfloat16 data, not ", type);
  if (run.flags.observe) observe(algorithm, x, tensors, run);
  if (!run.flags.quantize || x.numel() == 0) return x;
  check_shapes(algorithm.spec(), tensors, x.sizes().vec());
  const AffineArgs args{tensors.scale(), tensors.zero_point(), algorithm.scheme()};
  if (algorithm.takes_bfloat16() && has_bfloat16_loops(x, args)) return algorithm.quantize(x, tensors, run);
  return algorithm.quantize(x.to(at::kFloat), tensors, run).to(type);
}

}  // namespace quench
