// Sampling: Upsample and Resize (whose coordinates changed at 11), GridSample, RoiAlign.
#include <ATen/ATen.h>

#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "quench/error.h"

namespace quench {
namespace {

void upsample_7(Graph&, Node& node) {
  const double height = node.get_float("height_scale", 1.0), width = node.get_float("width_scale", 1.0);
  node.attrs["scales"] = std::vector<double>{1.0, 1.0, height, width};
  if (node.get_string("mode", "nearest") == "bilinear") node.attrs["mode"] = std::string("linear");
  node.attrs.erase("height_scale");
  node.attrs.erase("width_scale");
}

void upsample_9(Graph& graph, Node& node) {
  const std::vector<double> scales = node.get_floats("scales", {});
  QUENCH_CHECK(!scales.empty(), node.where(), ": attribute 'scales' is missing");
  const at::Tensor tensor = at::tensor(scales, at::kDouble).to(at::kFloat);
  Value& input = graph.add_constant(graph.unique_name(node.name() + "_scales"), tensor);
  set_optional_input(graph, node, 1, &input);
  node.attrs.erase("scales");
}

void upsample_10(Graph& graph, Node& node) { graph.set_op(node, "Resize"); }

// Output pixel i came from i / scale; the nearest one was that rounded down.
void resize_11(Graph& graph, Node& node) {
  graph.set_inputs(node, {node.input(0), nullptr, node.input(1)});
  node.attrs["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attrs["nearest_mode"] = std::string("floor");
}

// tf_half_pixel_for_nn is half_pixel half a pixel further on: the rounding makes up for it.
void replace_tf_half_pixel(Node& node) {
  if (node.get_string("coordinate_transformation_mode", "") != "tf_half_pixel_for_nn") return;
  const std::string rounding = node.get_string("nearest_mode", "round_prefer_floor");
  const bool nearest = node.get_string("mode", "nearest") == "nearest";
  QUENCH_CHECK(nearest && (rounding == "floor" || rounding == "round_prefer_floor"),
               "coordinate_transformation_mode=tf_half_pixel_for_nn was removed in opset 13; it can be replaced for ",
               "mode=nearest with nearest_mode=floor or round_prefer_floor only");
  node.attrs["coordinate_transformation_mode"] = std::string("half_pixel");
  node.attrs["nearest_mode"] = std::string(rounding == "floor" ? "round_prefer_ceil" : "ceil");
}

// Absent roi, scales and sizes were empty tensors.
void resize_13(Graph& graph, Node& node) {
  replace_tf_half_pixel(node);
  for (int slot = static_cast<int>(node.inputs().size()) - 1; slot > 0; --slot) {
    const Value* input = node.input(slot);
    const bool empty = input && input->has_rank() && input->rank() == 1 && input->dims()[0] == Dim(0);
    if (empty) drop_input(graph, node, slot);
  }
}

void grid_sample_20(Graph&, Node& node) {
  const std::string mode = node.get_string("mode", "bilinear");
  if (mode == "bilinear") node.attrs["mode"] = std::string("linear");
  if (mode == "bicubic") node.attrs["mode"] = std::string("cubic");
}

void roi_align_16(Graph&, Node& node) {
  node.attrs["coordinate_transformation_mode"] = std::string("output_half_pixel");
}

}  // namespace

QUENCH_REGISTER_UPGRADE("Upsample@7", upsample_7, "two scales become one per dimension")
QUENCH_REGISTER_UPGRADE("Upsample@9", upsample_9, "scales become an input")
QUENCH_REGISTER_UPGRADE("Upsample@10", upsample_10, "is called Resize")
QUENCH_REGISTER_UPGRADE("Resize@11", resize_11, "its coordinates become explicit; roi comes in between")
QUENCH_REGISTER_UPGRADE("Resize@13", resize_13, "empty inputs are absent; tf_half_pixel_for_nn is replaced")
QUENCH_REGISTER_UPGRADE("GridSample@20", grid_sample_20, "modes are called linear and cubic")
QUENCH_REGISTER_UPGRADE("RoiAlign@16", roi_align_16, "its coordinates become explicit")

}  // namespace quench
