// Padding and resizing of LibTorch -> Pad, Resize, DepthToSpace, SpaceToDepth.
#include <ATen/ATen.h>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

// LibTorch lists (begin, end) from the last dim backwards; ONNX all begins, then all ends.
Values pad(AtenCall& call, const std::string& mode) {
  Value& x = call.tensor("self");
  const Ints given = call.integers(call.args.contains("pad") ? "pad" : "padding");
  const auto rank = static_cast<std::size_t>(x.rank());
  QUENCH_CHECK(given.size() <= 2 * rank, call.where(), ": more paddings than dims");
  Ints pads(2 * rank, 0);
  for (std::size_t i = 0; i < given.size() / 2; ++i) {
    pads[rank - 1 - i] = given[2 * i];
    pads[2 * rank - 1 - i] = given[2 * i + 1];
  }
  Values inputs{&x, &call.integers_constant(pads)};
  if (mode == "constant") inputs.push_back(&call.scalar(call.real("value", 0.0), call.dtype()));
  return {&call.make("Pad", inputs, {{"mode", mode}})};
}

Values map_pad(AtenCall& call) {
  const std::string mode = call.text("mode", "constant");
  return pad(call, mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : mode);
}
Values map_reflection_pad(AtenCall& call) { return pad(call, "reflect"); }
Values map_replication_pad(AtenCall& call) { return pad(call, "edge"); }

// By factors where they were given (LibTorch reads the source positions from them), else by sizes.
Value& resize(AtenCall& call, Attrs attrs) {
  Value& x = call.tensor(call.args.contains("self") ? "self" : "input");
  std::vector<double> scales = call.reals("scale_factors");
  for (const char* axis : {"scales", "scales_d", "scales_h", "scales_w"})
    if (call.has(axis)) scales.push_back(call.real(axis, 1.0));
  const auto spatial = static_cast<std::size_t>(x.rank() - 2);
  const bool by_scale = scales.size() == spatial;
  if (by_scale) {
    std::vector<float> factors{1.0F, 1.0F};
    factors.insert(factors.end(), scales.begin(), scales.end());
    return call.make("Resize", {&x, nullptr, &call.constant(at::tensor(factors))}, attrs);
  }
  std::vector<AtenInt> sizes = call.sizes_of(x);
  const std::vector<AtenInt> wanted = call.dim_integers("output_size");
  QUENCH_CHECK(wanted.size() == spatial, call.where(), ": ", wanted.size(), " sizes for ", spatial, " dims");
  std::copy(wanted.begin(), wanted.end(), sizes.begin() + 2);
  return call.make("Resize", {&x, nullptr, nullptr, &call.shape_value(sizes)}, attrs);
}

Values map_upsample_nearest(AtenCall& call) {
  return {&resize(call, {{"mode", std::string("nearest")},
                         {"coordinate_transformation_mode", std::string("asymmetric")},
                         {"nearest_mode", std::string("floor")}})};
}

// The source position of a pixel's middle.
Values map_upsample_nearest_exact(AtenCall& call) {
  return {&resize(call, {{"mode", std::string("nearest")},
                         {"coordinate_transformation_mode", std::string("half_pixel")},
                         {"nearest_mode", std::string("round_prefer_ceil")}})};
}

Values map_upsample_linear(AtenCall& call) {
  const bool cubic = call.kind().find("bicubic") != std::string::npos;
  const bool corners = call.flag("align_corners");
  Attrs attrs{{"mode", std::string(cubic ? "cubic" : "linear")},
              {"coordinate_transformation_mode", std::string(corners ? "align_corners" : "half_pixel")}};
  if (cubic) attrs["cubic_coeff_a"] = -0.75;
  return {&resize(call, attrs)};
}

Values map_pixel_shuffle(AtenCall& call) {
  return {&call.make("DepthToSpace", {&call.tensor("self")},
                     {{"blocksize", call.integer("upscale_factor")}, {"mode", std::string("CRD")}})};
}

}  // namespace

QUENCH_REGISTER_ATEN("pad", map_pad, "Pad")
QUENCH_REGISTER_ATEN("constant_pad_nd", map_pad, "Pad")
QUENCH_REGISTER_ATEN("reflection_pad1d", map_reflection_pad, "Pad")
QUENCH_REGISTER_ATEN("reflection_pad2d", map_reflection_pad, "Pad")
QUENCH_REGISTER_ATEN("reflection_pad3d", map_reflection_pad, "Pad")
QUENCH_REGISTER_ATEN("replication_pad1d", map_replication_pad, "Pad")
QUENCH_REGISTER_ATEN("replication_pad2d", map_replication_pad, "Pad")
QUENCH_REGISTER_ATEN("replication_pad3d", map_replication_pad, "Pad")
QUENCH_REGISTER_ATEN("upsample_nearest1d", map_upsample_nearest, "Resize")
QUENCH_REGISTER_ATEN("upsample_nearest2d", map_upsample_nearest, "Resize")
QUENCH_REGISTER_ATEN("upsample_nearest3d", map_upsample_nearest, "Resize")
QUENCH_REGISTER_ATEN("_upsample_nearest_exact1d", map_upsample_nearest_exact, "Resize")
QUENCH_REGISTER_ATEN("_upsample_nearest_exact2d", map_upsample_nearest_exact, "Resize")
QUENCH_REGISTER_ATEN("_upsample_nearest_exact3d", map_upsample_nearest_exact, "Resize")
QUENCH_REGISTER_ATEN("upsample_linear1d", map_upsample_linear, "Resize")
QUENCH_REGISTER_ATEN("upsample_bilinear2d", map_upsample_linear, "Resize")
QUENCH_REGISTER_ATEN("upsample_trilinear3d", map_upsample_linear, "Resize")
QUENCH_REGISTER_ATEN("upsample_bicubic2d", map_upsample_linear, "Resize")
QUENCH_REGISTER_ATEN("pixel_shuffle", map_pixel_shuffle, "DepthToSpace")

}  // namespace quench
