// Sampling and pooling: Resize, GridSample, RoiAlign, the pools' dilations; and DFT.
#include <ATen/ATen.h>

#include <algorithm>

#include "deploy/onnx/lower_inputs.h"
#include "deploy/onnx/lower_rule.h"
#include "graph/edit.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

void resize_19(Graph&, Node& node) {
  QUENCH_CHECK(node.get_string("coordinate_transformation_mode", "half_pixel") != "half_pixel_symmetric",
               "coordinate_transformation_mode=half_pixel_symmetric needs opset 19");
}

// Scales of some axes -> of all, the others by 1.
Value& scales_of_all_axes(Graph& graph, const Node& node, const std::vector<std::int64_t>& axes, int rank) {
  const Value* scales = node.input(2);
  QUENCH_CHECK(scales->is_constant(), "with 'axes', the scales must be a constant below opset 18");
  at::Tensor all = at::ones({rank}, at::kFloat);
  for (std::size_t i = 0; i < axes.size(); ++i)
    all[normalize_axis(axes[i], rank, node)] = scales->tensor()[static_cast<std::int64_t>(i)];
  return graph.add_constant(graph.unique_name(node.name() + "_scales"), all);
}

Value& sizes_of_all_axes(Graph& graph, const Node& node, const std::vector<std::int64_t>& axes, int rank) {
  const std::vector<std::int64_t> sizes = constant_integers(node, 3, "sizes");
  QUENCH_CHECK(sizes.size() == axes.size(), sizes.size(), " sizes for ", axes.size(), " axes");
  std::vector<std::int64_t> all(static_cast<std::size_t>(rank), -1);
  for (std::size_t i = 0; i < axes.size(); ++i)
    all[static_cast<std::size_t>(normalize_axis(axes[i], rank, node))] = sizes[i];
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t& size = all[static_cast<std::size_t>(axis)];
    const Dim& dim = node.input(0)->dims()[static_cast<std::size_t>(axis)];
    QUENCH_CHECK(size >= 0 || dim.is_number(), "with 'axes', the dim of axis ", axis, " must be known below opset 18");
    if (size < 0) size = dim.number();
  }
  return add_integers(graph, node, "sizes", all);
}

void resize_18(Graph& graph, Node& node) {
  if (!node.has("axes")) return;
  QUENCH_CHECK(!node.input(1) && node.get_string("keep_aspect_ratio_policy", "stretch") == "stretch",
               "'axes' with a roi or an aspect ratio to keep needs opset 18");
  QUENCH_CHECK(node.input(0) && node.input(0)->has_rank(), "the rank of the input must be known to do without 'axes'");
  const int rank = node.input(0)->rank();
  const std::vector<std::int64_t> axes = node.require_ints("axes");
  if (node.input(2)) graph.set_input(node, 2, &scales_of_all_axes(graph, node, axes, rank));
  if (node.input(3)) graph.set_input(node, 3, &sizes_of_all_axes(graph, node, axes, rank));
  node.attrs.erase("axes");
}

// Below 13 an absent roi or scales is an empty tensor.
void resize_13(Graph& graph, Node& node) {
  for (int slot = 1; slot < 3; ++slot) {
    if (node.input(slot)) continue;
    const std::string name = graph.unique_name(node.name() + (slot == 1 ? "_roi" : "_scales"));
    set_optional_input(graph, node, slot, &graph.add_constant(name, at::empty({0}, at::kFloat)));
  }
}

void resize_11(Graph& graph, Node& node) {
  const bool nearest = node.get_string("mode", "nearest") == "nearest";
  QUENCH_CHECK(node.get_string("coordinate_transformation_mode", "half_pixel") == "asymmetric" && !node.input(3) &&
                   (!nearest || node.get_string("nearest_mode", "round_prefer_floor") == "floor"),
               "below opset 11 Resize takes scales, and is asymmetric with nearest_mode=floor");
  node.attrs.erase("coordinate_transformation_mode");
  node.attrs.erase("nearest_mode");
  graph.set_inputs(node, {node.input(0), node.input(2)});
}

void resize_10(Graph& graph, Node& node) {
  const std::string mode = node.get_string("mode", "nearest");
  QUENCH_CHECK(mode == "nearest" || mode == "linear", "mode=", mode, " needs opset 11");
  graph.set_op(node, "Upsample");
}

void grid_sample_20(Graph&, Node& node) {
  const std::string mode = node.get_string("mode", "linear");
  const Value* x = node.input(0);
  QUENCH_CHECK(!x || !x->has_rank() || x->rank() == 4, "an input of rank ", x->rank(), " needs opset 20");
  if (mode == "linear") node.attrs["mode"] = std::string("bilinear");
  if (mode == "cubic") node.attrs["mode"] = std::string("bicubic");
}

void roi_align_16(Graph&, Node& node) {
  const std::string mode = node.get_string("coordinate_transformation_mode", "half_pixel");
  QUENCH_CHECK(mode == "output_half_pixel", "coordinate_transformation_mode=", mode, " needs opset 16");
  node.attrs.erase("coordinate_transformation_mode");
}

// Dilations of 1 need not be said.
void drop_unit_dilations(Graph&, Node& node) {
  const std::vector<std::int64_t> dilations = node.get_ints("dilations", {});
  if (std::all_of(dilations.begin(), dilations.end(), [](auto d) { return d == 1; })) node.attrs.erase("dilations");
}

void dft_20(Graph& graph, Node& node) {
  std::int64_t axis = node.input(2) ? static_cast<std::int64_t>(constant_number(node, 2, "axis")) : -2;
  const Value* x = node.input(0);
  QUENCH_CHECK(axis >= 0 || (x && x->has_rank()), "the rank of the input must be known below opset 20");
  if (axis < 0) axis += x->rank();
  drop_input(graph, node, 2);
  node.attrs["axis"] = axis;
}

}  // namespace

QUENCH_REGISTER_LOWERING("Resize@19", resize_19, "refuses half_pixel_symmetric")
QUENCH_REGISTER_LOWERING("Resize@18", resize_18, "scales and sizes of some axes become those of all")
QUENCH_REGISTER_LOWERING("Resize@13", resize_13, "absent inputs become empty ones")
QUENCH_REGISTER_LOWERING("Resize@11", resize_11, "only asymmetric scales")
QUENCH_REGISTER_LOWERING("Resize@10", resize_10, "is called Upsample")
QUENCH_REGISTER_LOWERING("GridSample@20", grid_sample_20, "modes are called bilinear and bicubic")
QUENCH_REGISTER_LOWERING("RoiAlign@16", roi_align_16, "only output_half_pixel")
QUENCH_REGISTER_LOWERING("AveragePool@19", drop_unit_dilations, "dilations of 1 go")
QUENCH_REGISTER_LOWERING("LpPool@18", drop_unit_dilations, "dilations of 1 go")
QUENCH_REGISTER_LOWERING("MaxPool@10", drop_unit_dilations, "dilations of 1 go")
QUENCH_REGISTER_LOWERING("DFT@20", dft_20, "axis becomes an attribute")

}  // namespace quench
