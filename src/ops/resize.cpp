// Resize: all modes are separable, so each axis is one gather or one product with a matrix of weights;
// LibTorch's own kernels where they compute exactly the same.
#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/number_rules.h"
#include "ops/number_types.h"
#include "ops/resample.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

ResampleRule rule_of(const Node& node) {
  ResampleRule rule;
  rule.mode = node.get_string("mode", "nearest");
  QUENCH_CHECK(rule.mode == "nearest" || rule.mode == "linear" || rule.mode == "cubic", node.where(),
               ": unknown mode '", rule.mode, "'; known: nearest, linear, cubic");
  rule.coordinates = node.get_string("coordinate_transformation_mode", "half_pixel");
  rule.nearest = node.get_string("nearest_mode", "round_prefer_floor");
  rule.cubic_a = node.get_float("cubic_coeff_a", -0.75);
  rule.exclude_outside = node.get_int("exclude_outside", 0) != 0;
  rule.antialias = node.get_int("antialias", 0) != 0;
  return rule;
}

Ints axes_of(const Node& node, std::size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.get_ints("axes", axes);
  for (std::int64_t& axis : axes) axis = normalize_axis(axis, static_cast<int>(rank), node);
  return axes;
}

// One scale for all axes, by the keep_aspect_ratio_policy.
void keep_aspect(const std::string& policy, std::vector<ResampleAxis>& plan, const Ints& axes, const Ints& sizes) {
  double scale = policy == "not_larger" ? HUGE_VAL : 0.0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(plan[static_cast<std::size_t>(axes[i])].in);
    scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (const std::int64_t at : axes) {
    ResampleAxis& axis = plan[static_cast<std::size_t>(at)];
    axis.scale = scale;
    axis.out = static_cast<std::int64_t>(std::floor(scale * static_cast<double>(axis.in) + 0.5));
  }
}

struct Request {
  Ints sizes;                  // one per axis, or empty
  std::vector<double> scales;  // one per axis, or empty
  std::vector<double> region;  // starts, then ends, or empty
};

std::vector<ResampleAxis> plan_of(const Node& node, at::IntArrayRef shape, const Request& request) {
  std::vector<ResampleAxis> plan(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) plan[i].in = plan[i].out = shape[i];
  const Ints axes = axes_of(node, shape.size());
  const std::size_t given = request.sizes.empty() ? request.scales.size() : request.sizes.size();
  QUENCH_CHECK(given == axes.size(), node.where(), ": ", given, " scales or sizes for ", axes.size(), " axes");
  const bool crops = node.get_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  QUENCH_CHECK(!crops || request.region.size() == 2 * axes.size(), node.where(), ": roi must have ", 2 * axes.size(),
               " elements, it has ", request.region.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResampleAxis& axis = plan[static_cast<std::size_t>(axes[i])];
    if (crops) {
      axis.start = request.region[i];
      axis.finish = request.region[i + axes.size()];
    }
    if (!request.sizes.empty()) {
      axis.out = request.sizes[i];
      axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
      continue;
    }
    axis.scale = request.scales[i];
    // In float, as the scale itself: 10 * 0.7 is 7.
    const auto size = static_cast<float>(axis.in) * static_cast<float>(axis.finish - axis.start);
    axis.out = static_cast<std::int64_t>(std::floor(size * static_cast<float>(axis.scale)));
  }
  const std::string policy = node.get_string("keep_aspect_ratio_policy", "stretch");
  QUENCH_CHECK(policy == "stretch" || policy == "not_larger" || policy == "not_smaller", node.where(),
               ": unknown keep_aspect_ratio_policy '", policy, "'; known: stretch, not_larger, not_smaller");
  if (!request.sizes.empty() && policy != "stretch") keep_aspect(policy, plan, axes, request.sizes);
  return plan;
}

Request request_of(const Inputs& in) {
  Request request;
  if (given(in, 1)) request.region = numbers_at(in, 1);
  if (given(in, 3) && in[3].tensor().numel() > 0)
    request.sizes = integers_at(in, 3);
  else if (given(in, 2))
    request.scales = numbers_at(in, 2);
  return request;
}

bool is_unchanged(const ResampleAxis& axis, const ResampleRule& rule) {
  return axis.in == axis.out && axis.scale == 1.0 && rule.coordinates != "tf_crop_and_resize";
}

// [N, C, H, W] of floats, of which only H and W change.
bool is_image(const at::Tensor& x, const std::vector<ResampleAxis>& plan, const ResampleRule& rule) {
  return x.dim() == 4 && x.is_floating_point() && is_unchanged(plan[0], rule) && is_unchanged(plan[1], rule);
}

// Whether nearest mode repeats elements just as LibTorch's does: element i from i * in / out.
bool repeats_evenly(const ResampleAxis& axis, const Ints& indices) {
  for (std::int64_t i = 0; i < axis.out; ++i)
    if (indices[static_cast<std::size_t>(i)] != i * axis.in / axis.out) return false;
  return axis.out % axis.in == 0;
}

at::Tensor resize_nearest(at::Tensor x, const std::vector<ResampleAxis>& plan, const ResampleRule& rule) {
  if (is_image(x, plan, rule) && repeats_evenly(plan[2], resample_indices(plan[2], rule)) &&
      repeats_evenly(plan[3], resample_indices(plan[3], rule)))
    return at::upsample_nearest2d(x, {plan[2].out, plan[3].out});
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (is_unchanged(plan[i], rule)) continue;
    const at::Tensor indices = integer_tensor(resample_indices(plan[i], rule)).to(x.device());
    x = x.index_select(static_cast<std::int64_t>(i), indices);
  }
  return x;
}

bool has_direct_linear(const at::Tensor& x, const std::vector<ResampleAxis>& plan, const ResampleRule& rule) {
  if (rule.mode != "linear" || rule.antialias || rule.exclude_outside || !is_image(x, plan, rule)) return false;
  if (rule.coordinates == "pytorch_half_pixel") return plan[2].out > 1 && plan[3].out > 1;
  if (rule.coordinates == "half_pixel") return true;
  const auto is_whole = [](const ResampleAxis& axis) { return resized_length(axis) == static_cast<double>(axis.out); };
  return rule.coordinates == "align_corners" && is_whole(plan[2]) && is_whole(plan[3]);
}

at::Tensor resize_smooth(const at::Tensor& x, const std::vector<ResampleAxis>& plan, const ResampleRule& rule) {
  if (has_direct_linear(x, plan, rule))
    return at::upsample_bilinear2d(x, {plan[2].out, plan[3].out}, rule.coordinates == "align_corners", plan[2].scale,
                                   plan[3].scale);
  at::Tensor y = x;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (is_unchanged(plan[i], rule)) continue;
    const std::vector<double> weights = resample_weights(plan[i], rule);
    const at::Tensor matrix = at::tensor(weights, at::kDouble).reshape({plan[i].out, plan[i].in}).to(y.options());
    const auto axis = static_cast<std::int64_t>(i);
    y = at::matmul(y.movedim(axis, -1), matrix.t()).movedim(-1, axis);
  }
  return y;
}

// tf_crop_and_resize: what lies outside the data gets a value of its own.
at::Tensor fill_outside(const Node& node, at::Tensor y, const std::vector<ResampleAxis>& plan,
                        const ResampleRule& rule) {
  const double value = node.get_float("extrapolation_value", 0.0);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const at::Tensor x = at::tensor(resample_coordinates(plan[i], rule), at::kDouble);
    const at::Tensor outside = (x < 0).logical_or(x > static_cast<double>(plan[i].in - 1)).to(y.device());
    y = y.masked_fill(per_channel(outside, y.dim(), static_cast<std::int64_t>(i)), value);
  }
  return y;
}

std::vector<RtValue> resize(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const ResampleRule rule = rule_of(node);
  const std::vector<ResampleAxis> plan = plan_of(node, x.sizes(), request_of(in));
  for (const ResampleAxis& axis : plan)
    QUENCH_CHECK(axis.out == 0 || axis.in > 0, node.where(), ": an empty axis cannot become ", axis.out, " long");
  const at::Tensor y = rule.mode == "nearest"
                           ? resize_nearest(x, plan, rule)
                           : in_floats(x, [&](const at::Tensor& floats) { return resize_smooth(floats, plan, rule); });
  return {rule.coordinates == "tf_crop_and_resize" ? fill_outside(node, y, plan, rule) : y};
}

// What the inputs ask for; nothing if one of those that matter is not known.
std::optional<Request> static_request(const Node& node) {
  Request request;
  const auto region = input_numbers(node, 1), scales = input_numbers(node, 2);
  const auto sizes = input_integers(node, 3);
  if (node.get_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize" && !region)
    return std::nullopt;
  if ((node.input(3) && !sizes) || (!sizes && !scales)) return std::nullopt;
  request.region = region.value_or(std::vector<double>());
  if (sizes) request.sizes = *sizes;
  if (request.sizes.empty() && scales) request.scales = *scales;
  return request;
}

// All numbers: what evaluation will do. Nothing if a dim or a request is not known.
std::optional<Dims> planned_dims(const Node& node, const Dims& dims) {
  const std::optional<Request> request = static_request(node);
  Ints sizes;
  for (const Dim& dim : dims)
    if (dim.is_number() && dim.number() > 0) sizes.push_back(dim.number());
  if (!request || sizes.size() != dims.size()) return std::nullopt;
  Dims planned;
  for (const ResampleAxis& axis : plan_of(node, sizes, *request)) planned.emplace_back(axis.out);
  return planned;
}

Dim scaled(const Dim& dim, double scale) {
  if (scale == 1.0) return dim;
  return scale == std::floor(scale) ? dim * Dim(static_cast<std::int64_t>(scale)) : Dim();
}

void resize_shapes(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  if (!dims) return set_type(node, 0, input_dtype(node, 0), std::nullopt);
  const Ints axes = axes_of(node, dims->size());
  const bool plain = node.get_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize" &&
                     node.get_string("keep_aspect_ratio_policy", "stretch") == "stretch";
  const std::optional<Dims> sizes = input_contents(node, 3), planned = planned_dims(node, *dims);
  if (planned) return set_type(node, 0, input_dtype(node, 0), planned);
  const auto scales = input_numbers(node, 2);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = (*dims)[static_cast<std::size_t>(axes[i])];
    if (sizes && sizes->size() == axes.size() && plain)
      dim = (*sizes)[i];
    else if (scales && scales->size() == axes.size() && plain && dim.is_number())
      dim = Dim(
          static_cast<std::int64_t>(std::floor(static_cast<float>(dim.number()) * static_cast<float>((*scales)[i]))));
    else
      dim = scales && scales->size() == axes.size() && plain ? scaled(dim, (*scales)[i]) : Dim();
  }
  set_type(node, 0, input_dtype(node, 0), dims);
}

bool repeats_elements(const Node& node) {
  const bool has_outside = node.get_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  return node.get_string("mode", "nearest") == "nearest" &&
         !(has_outside && node.get_float("extrapolation_value", 0.0) != 0.0);
}

OpTraits resize_traits() {
  OpTraits traits;
  traits.moves_codes = repeats_elements;
  traits.host_slots = {1, 2, 3};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Resize", resize, resize_shapes, resize_traits(), "resamples a tensor to other dims")

}  // namespace quench
