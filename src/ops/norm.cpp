// Normalizations by statistics of the sample itself.
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// Statistics are taken in float (stash_type 1) or in the data's own type where that is wider.
at::Tensor stash(const Node& node, const at::Tensor& x) {
  return node.get_int("stash_type", 1) == 1 && x.scalar_type() != at::kDouble ? x.to(at::kFloat) : x;
}

std::vector<RtValue> layer_normalization(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const auto axis = static_cast<std::size_t>(normalize_axis(node.get_int("axis", -1), static_cast<int>(x.dim()), node));
  const at::IntArrayRef inner = x.sizes().slice(axis);
  const std::optional<at::Tensor> scale = optional_tensor(in, 1), bias = optional_tensor(in, 2);
  const auto fits = [&](const std::optional<at::Tensor>& tensor) {
    return !tensor || (tensor->sizes() == inner && tensor->scalar_type() == x.scalar_type());
  };
  const double epsilon = node.get_float("epsilon", 1e-5);
  const at::Tensor data = stash(node, x);
  if (fits(scale) && fits(bias) && data.scalar_type() == x.scalar_type()) {
    const auto [y, mean, deviation] = at::native_layer_norm(x, inner, scale, bias, epsilon);
    return {y, mean, deviation};
  }
  const auto [y, mean, deviation] = at::native_layer_norm(data, inner, std::nullopt, std::nullopt, epsilon);
  at::Tensor result = y.to(x.scalar_type());
  if (scale) result = result * *scale;
  if (bias) result = result + *bias;
  return {result, mean, deviation};
}

std::vector<RtValue> rms_normalization(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const int axis = normalize_axis(node.get_int("axis", -1), static_cast<int>(x.dim()), node);
  std::vector<std::int64_t> axes;
  for (std::int64_t i = axis; i < x.dim(); ++i) axes.push_back(i);
  const at::Tensor data = stash(node, x);
  const at::Tensor y = data * at::rsqrt(data.square().mean(axes, true) + node.get_float("epsilon", 1e-5));
  return {y.to(x.scalar_type()) * in[1].tensor()};
}

std::vector<RtValue> instance_normalization(const Node& node, const Inputs& in, ExecContext&) {
  return {at::instance_norm(in[0].tensor(), in[1].tensor(), in[2].tensor(), {}, {}, /*use_input_stats=*/true, 0.0,
                            node.get_float("epsilon", 1e-5), at::globalContext().userEnabledCuDNN())};
}

std::vector<RtValue> group_normalization(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &scale = in[1].tensor(), &bias = in[2].tensor();
  const double epsilon = node.get_float("epsilon", 1e-5);
  const std::int64_t groups = node.require_int("num_groups");
  const at::Tensor data = stash(node, x);
  if (data.scalar_type() == x.scalar_type()) return {at::group_norm(x, groups, scale, bias, epsilon)};
  const at::Tensor y = at::group_norm(data, groups, {}, {}, epsilon).to(x.scalar_type());
  return {y * per_channel(scale, x.dim()) + per_channel(bias, x.dim())};
}

std::vector<RtValue> lp_normalization(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::int64_t p = node.get_int("p", 2), axis = node.get_int("axis", -1);
  QUENCH_CHECK(p == 1 || p == 2, node.where(), ": p must be 1 or 2, not ", p);
  const at::Tensor norm = p == 1 ? at::abs(x).sum(axis, true) : x.square().sum(axis, true).sqrt();
  return {x / norm.masked_fill(norm == 0, 1.0)};  // zeros stay zeros
}

std::vector<RtValue> mean_variance_normalization(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::vector<std::int64_t> axes = node.get_ints("axes", {0, 2, 3});
  const at::Tensor centred = x - x.mean(axes, true);
  return {centred / (centred.square().mean(axes, true).sqrt() + 1e-9)};
}

// x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
std::vector<RtValue> local_response(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::int64_t size = node.require_int("size");
  const std::int64_t before = (size - 1) / 2;
  std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * (x.dim() - 1)), 0);  // last dim first
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = size - 1 - before;
  const at::Tensor sum = at::constant_pad_nd(x.square(), pads, 0.0).unfold(1, size, 1).sum(-1);
  const double alpha = node.get_float("alpha", 1e-4), beta = node.get_float("beta", 0.75);
  return {x / (sum * (alpha / static_cast<double>(size)) + node.get_float("bias", 1.0)).pow(beta)};
}

void layer_norm_shapes(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  set_type(node, 0, input_dtype(node, 0), dims);
  if (dims) {
    const int axis = normalize_axis(node.get_int("axis", -1), static_cast<int>(dims->size()), node);
    for (std::size_t i = static_cast<std::size_t>(axis); i < dims->size(); ++i) (*dims)[i] = Dim(1);
  }
  const DType stashed = input_dtype(node, 0) == DType::kDouble ? DType::kDouble : DType::kFloat;
  set_type(node, 1, stashed, dims);
  set_type(node, 2, stashed, dims);
}

OpTraits norm_traits(int channel_axis) {
  OpTraits traits;
  traits.parameter_slots = {1, 2};
  traits.channel_axis = channel_axis;
  return traits;
}

OpTraits sign_keeping() {
  OpTraits traits;
  traits.keeps_sign = true;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("LayerNormalization", layer_normalization, layer_norm_shapes, norm_traits(-1),
                   "each row by its mean and variance, scaled and shifted")
QUENCH_REGISTER_OP("RMSNormalization", rms_normalization, same_as_input, norm_traits(-1),
                   "each row by its root mean square, scaled")
QUENCH_REGISTER_OP("InstanceNormalization", instance_normalization, same_as_input, norm_traits(1),
                   "each plane by its mean and variance, scaled and shifted")
QUENCH_REGISTER_OP("GroupNormalization", group_normalization, same_as_input, norm_traits(1),
                   "groups of channels by their mean and variance, scaled and shifted")
QUENCH_REGISTER_OP("LpNormalization", lp_normalization, same_as_input, sign_keeping(), "x / its norm along an axis")
QUENCH_REGISTER_OP("MeanVarianceNormalization", mean_variance_normalization, same_as_input, OpTraits{},
                   "(x - mean) / deviation over axes")
QUENCH_REGISTER_OP("LRN", local_response, same_as_input, sign_keeping(), "by the neighbouring channels' squares")

}  // namespace quench
