#include "import/onnx/fake_quantize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace quench {
namespace {

constexpr const char* kOperator = "org.openvinotoolkit.FakeQuantize";
// The ends are float32: of 2^16 levels the farther one is off by 2^-8 of a step at most, the quotient by little more.
constexpr double kOffGrid = 1.0 / 64;

struct Grid {
  at::Tensor scale, zero_point;  // one, or one per channel
  std::int64_t min = 0, max = 0;
  std::optional<int> axis;
};

bool has_known_ranges(const Node& node) {
  if (node.inputs().size() != 5 || !node.input(0) || !node.has("levels")) return false;
  for (int slot = 1; slot < 5; ++slot)
    if (!node.input(slot) || !node.input(slot)->is_constant() || node.input(slot)->tensor().numel() == 0) return false;
  const auto same = [&](int a, int b) { return at::equal(node.input(a)->tensor(), node.input(b)->tensor()); };
  return same(1, 3) && same(2, 4);
}

// The one axis along which the ranges differ; all others are of size 1.
std::optional<int> channel_axis(const at::Tensor& ends, int rank) {
  std::optional<int> axis;
  for (std::int64_t d = 0; d < ends.dim(); ++d) {
    if (ends.size(d) == 1) continue;
    if (axis) return std::nullopt;
    axis = static_cast<int>(rank - ends.dim() + d);  // shapes are aligned at the end
  }
  return axis;
}

// 2^b levels are codes from 0 on; 2^b - 1 the narrow ones, of both signs.
std::optional<Grid> grid_of(const Node& node) {
  const std::int64_t levels = node.get_int("levels", 0);
  const bool narrow = levels > 2 && ((levels + 1) & levels) == 0;
  if (levels < 2 || levels > 65536 || (!narrow && (levels & (levels - 1)) != 0)) return std::nullopt;
  const at::Tensor low = node.input(1)->tensor().to(at::kDouble), high = node.input(2)->tensor().to(at::kDouble);
  if (low.sizes() != high.sizes() || !(high > low).all().item<bool>()) return std::nullopt;
  Grid grid;
  const at::Tensor scale = (high - low) / static_cast<double>(levels - 1), zero = -low / scale;
  if ((zero - zero.round()).abs().max().item<double>() > kOffGrid || zero.min().item<double>() < -kOffGrid ||
      zero.max().item<double>() > static_cast<double>(levels - 1) + kOffGrid)
    return std::nullopt;
  grid.min = narrow ? -(levels - 1) / 2 : 0;
  grid.max = grid.min + levels - 1;
  grid.scale = scale.to(at::kFloat).reshape(-1);
  grid.zero_point = (zero.round() + static_cast<double>(grid.min)).to(at::kInt).reshape(-1);
  if (grid.scale.numel() == 1) return grid;
  grid.axis = node.input(0)->has_rank() ? channel_axis(low, node.input(0)->rank()) : std::nullopt;
  return grid.axis ? std::optional(grid) : std::nullopt;
}

void rename(Graph& graph, Node& node, const Grid& grid) {
  const auto constant = [&](const char* what, const at::Tensor& tensor) {
    return &graph.add_constant(graph.unique_name(node.output().name() + what), tensor);
  };
  const std::vector<Value*> ends = node.inputs();
  std::vector<Value*> inputs = {node.input(0), constant("_scale", grid.scale), constant("_zero", grid.zero_point)};
  if (grid.axis) inputs.push_back(constant("_axis", at::tensor(std::int64_t{*grid.axis})));
  inputs.push_back(constant("_least", at::tensor(grid.min)));
  inputs.push_back(constant("_greatest", at::tensor(grid.max)));
  graph.set_inputs(node, inputs);
  for (std::size_t slot = 1; slot < ends.size(); ++slot) {
    const bool seen = std::find(ends.begin() + 1, ends.begin() + static_cast<std::ptrdiff_t>(slot), ends[slot]) !=
                      ends.begin() + static_cast<std::ptrdiff_t>(slot);
    if (!seen && ends[slot]->uses().empty() && !ends[slot]->is_graph_output()) graph.erase(*ends[slot]);
  }
  node.attrs.clear();
  graph.set_op(node, grid.axis ? "FixedPerChannelAffine" : "FixedPerTensorAffine");
}

}  // namespace

void read_fake_quantize(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (node->op() == kOperator && has_known_ranges(*node)) found.push_back(node.get());
  for (Node* node : found)
    if (const std::optional<Grid> grid = grid_of(*node)) rename(graph, *node, *grid);
}

}  // namespace quench
