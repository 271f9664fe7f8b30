#include "quant/accumulator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/integer_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

void check_channels(std::size_t biases, std::size_t scales) {
  QUENCH_CHECK(scales > 0 && biases % scales == 0, biases, " biases cannot share ", scales,
               " scales of the weights evenly");
}

double bias_steps(float bias, float x_scale, float weight_scale) {
  return static_cast<double>(bias) / static_cast<double>(x_scale * weight_scale);
}

// The least float32 (or power of two) under which the bias fits.
float fitting_scale(float bias, float x_scale, bool power_of_two) {
  const double least = std::fabs(static_cast<double>(bias)) / (static_cast<double>(x_scale) * kLargestBias);
  auto scale = static_cast<float>(power_of_two ? std::exp2(std::ceil(std::log2(least))) : least);
  // float32 may have rounded the scale, or its product with s_x, down.
  while (std::fabs(bias_steps(bias, x_scale, scale)) > kLargestBias)
    scale = power_of_two ? 2 * scale : std::nextafter(scale, std::numeric_limits<float>::infinity());
  return scale;
}

std::int64_t largest_magnitude(const QType& type) {
  std::int64_t largest = 0;
  for (const std::int32_t z : type.params.zero_point)
    largest = std::max({largest, std::int64_t{type.scheme.qmax()} - z, std::int64_t{z} - type.scheme.qmin()});
  return largest;
}

}  // namespace

std::vector<std::int32_t> quantize_bias(const std::vector<float>& bias, float x_scale,
                                        const std::vector<float>& weight_scale, QuantizeBy by) {
  check_channels(bias.size(), weight_scale.size());
  std::vector<std::int32_t> codes;
  for (std::size_t c = 0; c < bias.size(); ++c) {
    QUENCH_CHECK(std::isfinite(bias[c]), "the bias of channel ", c, " is ", bias[c], ": it must be finite");
    const float w_scale = weight_scale[c % weight_scale.size()];
    const double steps = by == QuantizeBy::kReciprocal ? static_cast<double>(bias[c] * (1.0F / (x_scale * w_scale)))
                                                       : bias_steps(bias[c], x_scale, w_scale);
    const double code = std::rint(steps);
    QUENCH_CHECK(std::fabs(code) <= std::numeric_limits<std::int32_t>::max(), "the bias ", bias[c], " of channel ", c,
                 " is ", code, " steps and does not fit int32: raise the scale of its weights");
    codes.push_back(static_cast<std::int32_t>(code));
  }
  return codes;
}

RaisedScales raise_weight_scales(const std::vector<float>& bias, float x_scale, const QType& weight) {
  RaisedScales result{weight.params.scale, {}};
  check_channels(bias.size(), result.scale.size());
  for (std::size_t c = 0; c < bias.size(); ++c) {
    QUENCH_CHECK(std::isfinite(bias[c]), "the bias of channel ", c, " is ", bias[c]);
    const std::size_t entry = c % result.scale.size();
    float& scale = result.scale[entry];
    if (std::fabs(bias_steps(bias[c], x_scale, scale)) <= kLargestBias) continue;
    scale = fitting_scale(bias[c], x_scale, weight.scheme.power_of_two_scale());
    if (std::find(result.channels.begin(), result.channels.end(), entry) == result.channels.end())
      result.channels.push_back(entry);
  }
  return result;
}

std::int64_t accumulator_bound(std::int64_t products, const QType& x, const QType& w, std::int64_t largest_bias) {
  return products * largest_magnitude(x) * largest_magnitude(w) + largest_bias;
}

std::int64_t largest_accumulator(const QType& x, const QTensor& w, std::int64_t axis, const at::Tensor& bias) {
  const std::int64_t along = at::maybe_wrap_dim(axis, w.codes.dim());
  const at::Tensor steps = centered(w, static_cast<int>(along)).transpose(0, along).flatten(1).to(at::kLong);
  const at::Tensor up = steps.clamp_min(0).sum(1), down = steps.clamp_max(0).sum(1);
  const std::int64_t low = x.scheme.qmin() - x.params.zero_point.at(0);
  const std::int64_t high = x.scheme.qmax() - x.params.zero_point.at(0);
  at::Tensor most = up * high + down * low, least = up * low + down * high;
  if (bias.defined()) {
    const at::Tensor wide = bias.cpu().to(at::kLong).reshape({-1, most.numel()});
    most = most + wide, least = least + wide;
  }
  return most.numel() == 0 ? 0 : std::max(most.max().item<std::int64_t>(), -least.min().item<std::int64_t>());
}

}  // namespace quench
