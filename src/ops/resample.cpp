#include "ops/resample.h"

#include <algorithm>
#include <cmath>

#include "quench/error.h"

namespace quench {
namespace {

double source(const ResampleAxis& axis, const std::string& mode, double x) {
  const auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = out / (axis.scale * in);
    return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "pytorch_half_pixel") return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0.0;
  if (mode == "align_corners") return axis.out > 1 ? x * (in - 1) / (resized_length(axis) - 1) : 0.0;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode == "tf_crop_and_resize") {
    if (axis.out == 1) return 0.5 * (axis.start + axis.finish) * (in - 1);
    return axis.start * (in - 1) + x * (axis.finish - axis.start) * (in - 1) / (out - 1);
  }
  fail("unknown coordinate_transformation_mode '", mode,
       "'; known: half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, ",
       "tf_half_pixel_for_nn, tf_crop_and_resize");
}

double rounded(double x, const std::string& mode) {
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  fail("unknown nearest_mode '", mode, "'; known: round_prefer_floor, round_prefer_ceil, floor, ceil");
}

double cubic(double distance, double a) {
  const double x = std::abs(distance), x2 = x * x, x3 = x2 * x;
  if (x <= 1) return (a + 2) * x3 - (a + 3) * x2 + 1;
  return x < 2 ? a * x3 - 5 * a * x2 + 8 * a * x - 4 * a : 0.0;
}

double kernel(double distance, const ResampleRule& rule) {
  return rule.mode == "cubic" ? cubic(distance, rule.cubic_a) : std::max(1 - std::abs(distance), 0.0);
}

}  // namespace

double resized_length(const ResampleAxis& axis) {
  const double length = static_cast<double>(axis.in) * axis.scale, whole = std::round(length);
  return std::abs(length - whole) < 1e-5 * whole ? whole : length;  // a scale of 1/3 is not exact
}

std::vector<double> resample_coordinates(const ResampleAxis& axis, const ResampleRule& rule) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < axis.out; ++i) result.push_back(source(axis, rule.coordinates, static_cast<double>(i)));
  return result;
}

std::vector<std::int64_t> resample_indices(const ResampleAxis& axis, const ResampleRule& rule) {
  std::vector<std::int64_t> result;
  for (const double x : resample_coordinates(axis, rule))
    result.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(rounded(x, rule.nearest)), 0, axis.in - 1));
  return result;
}

std::vector<double> resample_weights(const ResampleAxis& axis, const ResampleRule& rule) {
  // When shrinking, antialias stretches the kernel over all that an output element covers.
  const double stretch = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double support = rule.mode == "cubic" ? 2.0 : 1.0;
  const auto first = static_cast<std::int64_t>(std::floor(-support / stretch)) + 1;
  std::vector<double> matrix(static_cast<std::size_t>(axis.in * axis.out), 0.0);
  std::size_t row = 0;
  for (const double x : resample_coordinates(axis, rule)) {
    const auto base = static_cast<std::int64_t>(std::ceil(x)) - 1;
    const double ratio = x - static_cast<double>(base);
    double total = 0.0;
    for (std::int64_t k = first; k <= 1 - first; ++k) {
      const std::int64_t at = base + k;
      if (rule.exclude_outside && (at < 0 || at >= axis.in)) continue;
      const double weight = kernel((static_cast<double>(k) - ratio) * stretch, rule);
      matrix[row + static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, axis.in - 1))] += weight;
      total += weight;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(axis.in); ++i) matrix[row + i] /= total;
    row += static_cast<std::size_t>(axis.in);
  }
  return matrix;
}

}  // namespace quench
