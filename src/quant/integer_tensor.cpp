#include "quant/integer_tensor.h"

#include <ATen/ATen.h>

#include <limits>

#include "quant/accumulator.h"
#include "quench/error.h"

namespace quench {

at::Tensor centered(const QTensor& x, int axis) {
  const QScheme& scheme = x.type.scheme;
  const QParams& params = x.type.params;
  QUENCH_CHECK(scheme.is_int() && scheme.granularity() != Granularity::kGroup, "integer ops do not take the scheme '",
               scheme.text(), "'");
  const at::Tensor codes = store_codes(x.codes.cpu(), scheme).to(at::kDouble).contiguous();
  std::int64_t channels = 1;
  if (!scheme.per_tensor()) {
    QUENCH_CHECK(
        axis >= 0 && scheme.axis_of(static_cast<int>(codes.dim())) == axis, "the scheme '", scheme.text(), "' ",
        axis < 0 ? "must be per tensor here" : concat("must have axis ", axis, " here, that of output channels"));
    channels = codes.size(axis);
  }
  QUENCH_CHECK(
      static_cast<std::int64_t>(params.scale.size()) == channels && params.zero_point.size() == params.scale.size(),
      "the scheme '", scheme.text(), "' needs ", channels, " scales and zero points here, found ", params.scale.size(),
      " and ", params.zero_point.size());
  check_scales(params);
  const at::Tensor zero_points = at::tensor(at::ArrayRef<std::int32_t>(params.zero_point)).to(at::kDouble);
  if (scheme.per_tensor()) return codes - zero_points;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(codes.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = channels;
  return codes - zero_points.view(shape);
}

float tensor_scale(const QTensor& x) {
  QUENCH_CHECK(x.type.scheme.per_tensor() && x.type.params.scale.size() == 1, "the scheme '", x.type.scheme.text(),
               "' must be per tensor here");
  check_scales(x.type.params);
  return x.type.params.scale[0];
}

at::Tensor requantized(const at::Tensor& accumulators, std::int64_t axis, const Requantizer& requantizer,
                       const QScheme& scheme) {
  const at::Tensor in = accumulators.to(at::kLong).contiguous();
  const at::Tensor out = at::empty(in.sizes(), at::kInt);
  const auto* from = in.const_data_ptr<std::int64_t>();
  auto* to = out.mutable_data_ptr<std::int32_t>();
  const std::int64_t channels = in.dim() == 0 ? 1 : in.size(axis), inner = in.dim() == 0 ? 1 : in.stride(axis);
  for (std::int64_t i = 0; i < in.numel(); ++i)
    to[i] = requantizer(from[i], static_cast<std::size_t>(i / inner % channels));
  return store_codes(out, scheme);
}

void check_int32(const at::Tensor& accumulators, std::int64_t products, std::int64_t bound) {
  if (accumulators.numel() == 0) return;
  const double largest = accumulators.to(at::kDouble).abs().max().item<double>();
  QUENCH_CHECK(largest <= std::numeric_limits<std::int32_t>::max(), "an accumulator reaches ",
               static_cast<std::int64_t>(largest), " and overflows int32; the bound for ", products,
               " products of these codes is ", bound);
}

at::Tensor finish_sums(const Sums& sums, const QTensor& x, const QTensor& w, const at::Tensor& bias, const Output& y) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;  // integers that float64 holds
  const std::int64_t axis = at::maybe_wrap_dim(sums.axis, sums.values.dim());
  std::int64_t largest_bias = 0;
  at::Tensor accumulators = sums.values;
  if (bias.defined()) {
    QUENCH_CHECK(bias.scalar_type() == at::kInt && bias.dim() == 1 && bias.size(0) == sums.values.size(axis),
                 "the bias must be int32 with an entry for each of ", sums.values.size(axis), " output channels");
    std::vector<std::int64_t> shape(static_cast<std::size_t>(sums.values.dim()), 1);
    shape[static_cast<std::size_t>(axis)] = bias.size(0);
    const at::Tensor wide = bias.cpu().to(at::kDouble);
    accumulators = accumulators + wide.view(shape);
    if (bias.numel() > 0) largest_bias = wide.abs().max().to(at::kLong).item<std::int64_t>();
  }
  const std::int64_t bound = accumulator_bound(sums.products, x.type, w.type, largest_bias);
  QUENCH_CHECK(bound < kExact, "sums of ", sums.products, " products of these codes cannot be computed exactly");
  check_int32(accumulators, sums.products, bound);
  const Requantizer requantizer(y.arithmetic, {tensor_scale(x), w.type.params.scale, 1},
                                output_codes(y.type, y.arithmetic, y.clip));
  return requantized(accumulators, axis, requantizer, y.type.scheme);
}

}  // namespace quench
