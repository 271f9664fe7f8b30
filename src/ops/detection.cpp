// NonMaxSuppression: of boxes that overlap, the ones with the best score.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

// A box is two opposite corners (y, x, y, x) in any order, or a centre and a size (x, y, width, height).
Box box_of(const float* values, bool centred) {
  if (centred) {
    const float half_width = values[2] / 2, half_height = values[3] / 2;
    return {values[1] - half_height, values[0] - half_width, values[1] + half_height, values[0] + half_width};
  }
  return {std::min(values[0], values[2]), std::min(values[1], values[3]), std::max(values[0], values[2]),
          std::max(values[1], values[3])};
}

// Intersection over union.
float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const float common = height * width, all = a.area() + b.area() - common;
  return all > 0 ? common / all : 0;
}

struct Limits {
  std::int64_t most = 0;
  float overlap = 0, score = -std::numeric_limits<float>::infinity();
};

std::vector<std::int64_t> kept_boxes(const std::vector<Box>& boxes, const float* scores, const Limits& limits) {
  std::vector<std::int64_t> order, kept;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (scores[i] > limits.score) order.push_back(static_cast<std::int64_t>(i));
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  for (std::int64_t candidate : order) {
    if (static_cast<std::int64_t>(kept.size()) >= limits.most) break;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](std::int64_t other) {
      return overlap(boxes[static_cast<std::size_t>(candidate)], boxes[static_cast<std::size_t>(other)]) >
             limits.overlap;
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

Limits limits_of(const Inputs& in) {
  Limits limits;
  if (given(in, 2)) limits.most = integer_at(in, 2);
  limits.overlap = static_cast<float>(number_at(in, 3, limits.overlap));
  limits.score = static_cast<float>(number_at(in, 4, limits.score));
  return limits;
}

std::vector<RtValue> non_max_suppression(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor boxes = in[0].tensor().to(at::kCPU, at::kFloat).contiguous();   // batch, box, 4
  const at::Tensor scores = in[1].tensor().to(at::kCPU, at::kFloat).contiguous();  // batch, class, box
  QUENCH_CHECK(boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 && scores.size(0) == boxes.size(0) &&
                   scores.size(2) == boxes.size(1),
               "boxes must be [batch, n, 4] and scores [batch, classes, n]");
  const Limits limits = limits_of(in);
  const bool centred = node.get_int("center_point_box", 0) != 0;
  std::vector<std::int64_t> found;
  for (std::int64_t batch = 0; batch < boxes.size(0); ++batch) {
    std::vector<Box> here;
    for (std::int64_t i = 0; i < boxes.size(1); ++i)
      here.push_back(box_of(boxes.const_data_ptr<float>() + (batch * boxes.size(1) + i) * 4, centred));
    for (std::int64_t kind = 0; kind < scores.size(1); ++kind) {
      const float* row = scores.const_data_ptr<float>() + (batch * scores.size(1) + kind) * scores.size(2);
      for (std::int64_t box : kept_boxes(here, row, limits)) found.insert(found.end(), {batch, kind, box});
    }
  }
  return {integer_tensor(found).reshape({-1, 3}).to(in[0].tensor().device())};
}

void non_max_suppression_shape(Node& node) { set_type(node, 0, DType::kInt64, Dims{Dim(), 3}); }

OpTraits suppression_traits() {
  OpTraits traits;
  traits.host_slots = {2, 3, 4};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("NonMaxSuppression", non_max_suppression, non_max_suppression_shape, suppression_traits(),
                   "the best of boxes that overlap")

}  // namespace quench
