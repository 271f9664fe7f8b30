// The arithmetic of Resize along one axis: where each output element looks, and with what weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench {

struct ResampleAxis {
  std::int64_t in = 1, out = 1;
  double scale = 1.0;                // of this axis, as given; out need not be exactly in * scale
  double start = 0.0, finish = 1.0;  // the region of tf_crop_and_resize
};

struct ResampleRule {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

// in * scale: what ONNX's align_corners calls the resized length, though out is that rounded down.
double resized_length(const ResampleAxis& axis);
// The input coordinate of every output element.
std::vector<double> resample_coordinates(const ResampleAxis& axis, const ResampleRule& rule);
// Nearest mode: the input element of every output element.
std::vector<std::int64_t> resample_indices(const ResampleAxis& axis, const ResampleRule& rule);
// Linear and cubic: a matrix [out, in], row by row. Weights beyond an edge fall on the edge element, or
// with exclude_outside are shared among the others.
std::vector<double> resample_weights(const ResampleAxis& axis, const ResampleRule& rule);

}  // namespace quench
