// Pooling of regions of interest: RoiAlign and MaxRoiPool. Boxes are read as numbers.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/moving.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// The two neighbours of each sample along one axis, and their weights; zero weights outside the image.
struct Samples {
  std::vector<std::int64_t> low, high;
  std::vector<double> low_weight, high_weight;

  void add(double x, std::int64_t size) {
    const bool outside = x < -1.0 || x > static_cast<double>(size);
    x = std::max(x, 0.0);
    std::int64_t at = std::min(static_cast<std::int64_t>(x), size - 1);
    const bool last = at >= size - 1;
    if (last) x = static_cast<double>(at);
    const double ratio = x - static_cast<double>(at);
    low.push_back(at);
    high.push_back(last ? at : at + 1);
    low_weight.push_back(outside ? 0.0 : 1.0 - ratio);
    high_weight.push_back(outside ? 0.0 : ratio);
  }
};

struct Side {
  double start, size;       // of the box
  std::int64_t bins, grid;  // samples in each bin
};

Samples samples_of(const Side& side, std::int64_t image) {
  Samples samples;
  const double bin = side.size / static_cast<double>(side.bins);
  for (std::int64_t i = 0; i < side.bins; ++i)
    for (std::int64_t j = 0; j < side.grid; ++j)
      samples.add(
          side.start + bin * (static_cast<double>(i) + (static_cast<double>(j) + 0.5) / static_cast<double>(side.grid)),
          image);
  return samples;
}

// One corner of every sample: the elements there times their weights, [C, rows, columns].
at::Tensor corner(const at::Tensor& plane, const std::vector<std::int64_t>& rows, const std::vector<double>& row_weight,
                  const std::vector<std::int64_t>& columns, const std::vector<double>& column_weight) {
  const at::Tensor taken = plane.index_select(1, integer_tensor(rows).to(plane.device()))
                               .index_select(2, integer_tensor(columns).to(plane.device()));
  const auto weights = [&](const std::vector<double>& w) { return at::tensor(w, at::kDouble).to(plane.options()); };
  return taken * weights(row_weight).unsqueeze(1) * weights(column_weight);
}

// By ONNX's definition the maximum is over the weighted corners, not over the interpolated samples.
at::Tensor align_box(const at::Tensor& plane, const Side& height, const Side& width, bool maximum) {
  const Samples y = samples_of(height, plane.size(1)), x = samples_of(width, plane.size(2));
  const at::Tensor corners = at::stack({corner(plane, y.low, y.low_weight, x.low, x.low_weight),
                                        corner(plane, y.low, y.low_weight, x.high, x.high_weight),
                                        corner(plane, y.high, y.high_weight, x.low, x.low_weight),
                                        corner(plane, y.high, y.high_weight, x.high, x.high_weight)});
  const std::vector<std::int64_t> bins{plane.size(0), height.bins, height.grid, width.bins, width.grid};
  if (maximum) return corners.amax(0).reshape(bins).amax({2, 4});
  return corners.sum(0).reshape(bins).mean({2, 4});
}

std::vector<RtValue> roi_align(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::vector<double> boxes = numbers_at(in, 1);
  const std::vector<std::int64_t> batch = integers_at(in, 2);
  QUENCH_CHECK(x.dim() == 4 && boxes.size() == 4 * batch.size(), node.where(), ": ", batch.size(),
               " boxes need four numbers each, there are ", boxes.size());
  const std::int64_t height = node.get_int("output_height", 1), width = node.get_int("output_width", 1);
  const std::int64_t ratio = node.get_int("sampling_ratio", 0);
  const double scale = node.get_float("spatial_scale", 1.0);
  const bool half_pixel = node.get_string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const bool maximum = node.get_string("mode", "avg") == "max";
  const auto side = [&](double from, double to, std::int64_t bins) {
    const double offset = half_pixel ? 0.5 : 0.0, start = from * scale - offset;
    double size = to * scale - offset - start;
    if (!half_pixel) size = std::max(size, 1.0);
    const auto own = static_cast<std::int64_t>(std::ceil(size / static_cast<double>(bins)));
    return Side{start, size, bins, std::max<std::int64_t>(ratio > 0 ? ratio : own, 1)};
  };
  std::vector<at::Tensor> results;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    QUENCH_CHECK(batch[i] >= 0 && batch[i] < x.size(0), node.where(), ": box ", i, " lies in image ", batch[i], " of ",
                 x.size(0));
    const double* box = &boxes[4 * i];  // x1, y1, x2, y2
    results.push_back(align_box(x[batch[i]], side(box[1], box[3], height), side(box[0], box[2], width), maximum));
  }
  return {results.empty() ? at::zeros({0, x.size(1), height, width}, x.options()) : at::stack(results)};
}

void roi_align_shapes(Node& node) {
  const std::optional<Dims> x = input_dims(node, 0), boxes = input_dims(node, 1);
  Dims y{boxes && !boxes->empty() ? (*boxes)[0] : Dim(), x && x->size() == 4 ? (*x)[1] : Dim(),
         Dim(node.get_int("output_height", 1)), Dim(node.get_int("output_width", 1))};
  set_type(node, 0, input_dtype(node, 0), y);
}

// Boxes [image, x1, y1, x2, y2]; each bin's maximum, zero where it is empty.
std::vector<RtValue> max_roi_pool(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::vector<double> boxes = numbers_at(in, 1);
  const std::vector<std::int64_t> pooled = node.require_ints("pooled_shape");
  QUENCH_CHECK(x.dim() == 4 && pooled.size() == 2 && boxes.size() % 5 == 0, node.where(),
               ": expected images [N, C, H, W], two pooled sizes, and five numbers per box");
  const double scale = node.get_float("spatial_scale", 1.0);
  std::vector<at::Tensor> results;
  for (std::size_t i = 0; i < boxes.size() / 5; ++i) {
    const auto image = static_cast<std::int64_t>(boxes[5 * i]);
    QUENCH_CHECK(image >= 0 && image < x.size(0), node.where(), ": box ", i, " lies in image ", image, " of ",
                 x.size(0));
    const auto edge = [&](std::size_t k) { return static_cast<std::int64_t>(std::round(boxes[5 * i + k] * scale)); };
    const std::int64_t start[2] = {edge(2), edge(1)};
    const std::int64_t size[2] = {std::max<std::int64_t>(edge(4) - start[0] + 1, 1),
                                  std::max<std::int64_t>(edge(3) - start[1] + 1, 1)};
    const auto range = [&](int axis, std::int64_t bin) {
      const double step = static_cast<double>(size[axis]) / static_cast<double>(pooled[static_cast<std::size_t>(axis)]);
      const auto from = start[axis] + static_cast<std::int64_t>(std::floor(static_cast<double>(bin) * step));
      const auto to = start[axis] + static_cast<std::int64_t>(std::ceil(static_cast<double>(bin + 1) * step));
      const std::int64_t limit = x.size(axis + 2);
      return std::pair{std::clamp<std::int64_t>(from, 0, limit), std::clamp<std::int64_t>(to, 0, limit)};
    };
    std::vector<at::Tensor> bins;
    for (std::int64_t row = 0; row < pooled[0]; ++row)
      for (std::int64_t column = 0; column < pooled[1]; ++column) {
        const auto [top, bottom] = range(0, row);
        const auto [left, right] = range(1, column);
        const bool empty = bottom <= top || right <= left;
        bins.push_back(empty ? at::zeros({x.size(1)}, x.options())
                             : x[image].slice(1, top, bottom).slice(2, left, right).amax({1, 2}));
      }
    results.push_back(at::stack(bins, 1).reshape({x.size(1), pooled[0], pooled[1]}));
  }
  return {results.empty() ? at::zeros({0, x.size(1), pooled[0], pooled[1]}, x.options()) : at::stack(results)};
}

void max_roi_pool_shapes(Node& node) {
  const std::optional<Dims> x = input_dims(node, 0), boxes = input_dims(node, 1);
  const std::vector<std::int64_t> pooled = node.require_ints("pooled_shape");
  Dims y{boxes && !boxes->empty() ? (*boxes)[0] : Dim(), x && x->size() == 4 ? (*x)[1] : Dim()};
  y.insert(y.end(), pooled.begin(), pooled.end());
  set_type(node, 0, input_dtype(node, 0), y);
}

OpTraits roi_align_traits() {
  OpTraits traits;
  traits.keeps_sign = true;
  traits.host_slots = {1, 2};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("RoiAlign", roi_align, roi_align_shapes, roi_align_traits(),
                   "pools boxes of an image by interpolated samples")
QUENCH_REGISTER_OP("MaxRoiPool", max_roi_pool, max_roi_pool_shapes, moving({1}), "largest element of each bin of a box")

}  // namespace quench
