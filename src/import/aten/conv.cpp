// Convolutions of LibTorch -> Conv, ConvTranspose.
#include <ATen/ATen.h>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

// LibTorch takes one number for all spatial dims.
Ints spread(Ints numbers, std::size_t count, std::int64_t fallback) {
  if (numbers.empty()) return Ints(count, fallback);
  return numbers.size() == 1 ? Ints(count, numbers[0]) : numbers;
}

struct Geometry {
  Ints strides, padding, dilations, output_padding;
  std::int64_t groups = 1;
  bool transposed = false;
};

Geometry geometry_of(const AtenCall& call, std::size_t spatial, bool transposed) {
  Geometry result;
  result.transposed = transposed;
  result.strides = spread(call.integers("stride"), spatial, 1);
  result.dilations = spread(call.integers("dilation"), spatial, 1);
  result.groups = call.integer("groups", 1);
  result.output_padding = spread(call.integers("output_padding"), spatial, 0);
  if (call.has("padding") && std::holds_alternative<std::string>(call.args.at("padding"))) return result;
  result.padding = spread(call.integers("padding"), spatial, 0);
  return result;
}

Attrs conv_attrs(const AtenCall& call, const Geometry& geometry, const Ints& kernel) {
  Attrs attrs{{"kernel_shape", kernel},
              {"strides", geometry.strides},
              {"dilations", geometry.dilations},
              {"group", geometry.groups}};
  Ints pads;
  if (geometry.padding.empty()) {  // "same" or "valid"; LibTorch pads the end more, as SAME_UPPER does
    const bool same = call.text("padding", "valid") == "same";
    for (const bool end : {false, true})
      for (std::size_t i = 0; i < kernel.size(); ++i) {
        const std::int64_t total = same ? geometry.dilations[i] * (kernel[i] - 1) : 0;
        pads.push_back(end ? total - total / 2 : total / 2);
      }
  } else {
    pads = geometry.padding;
    pads.insert(pads.end(), geometry.padding.begin(), geometry.padding.end());
  }
  attrs["pads"] = pads;
  if (geometry.transposed) attrs["output_padding"] = geometry.output_padding;
  return attrs;
}

Values convolve(AtenCall& call, bool transposed) {
  Value& weight = call.tensor("weight");
  Ints kernel;
  for (int i = 2; i < weight.rank(); ++i) {
    QUENCH_CHECK(weight.dims()[static_cast<std::size_t>(i)].is_number(), call.where(), ": the kernel's size varies");
    kernel.push_back(weight.dims()[static_cast<std::size_t>(i)].number());
  }
  Value& input = call.tensor("input");
  QUENCH_CHECK(input.rank() == weight.rank(), call.where(), ": the input must have a batch dimension");
  Values inputs{&input, &weight};
  if (Value* bias = call.tensor_or_null("bias")) inputs.push_back(bias);
  const Geometry geometry = geometry_of(call, kernel.size(), transposed);
  return {&call.make(transposed ? "ConvTranspose" : "Conv", inputs, conv_attrs(call, geometry, kernel))};
}

Values map_convolution(AtenCall& call) { return convolve(call, call.flag("transposed")); }
Values map_conv(AtenCall& call) { return convolve(call, false); }
Values map_conv_transpose(AtenCall& call) { return convolve(call, true); }

}  // namespace

QUENCH_REGISTER_ATEN_LAYER("_convolution", map_convolution, "Conv, ConvTranspose")
QUENCH_REGISTER_ATEN_LAYER("convolution", map_convolution, "Conv, ConvTranspose")
QUENCH_REGISTER_ATEN_LAYER("_convolution_mode", map_conv, "Conv")
QUENCH_REGISTER_ATEN_LAYER("conv1d", map_conv, "Conv")
QUENCH_REGISTER_ATEN_LAYER("conv2d", map_conv, "Conv")
QUENCH_REGISTER_ATEN_LAYER("conv3d", map_conv, "Conv")
QUENCH_REGISTER_ATEN_LAYER("conv_transpose1d", map_conv_transpose, "ConvTranspose")
QUENCH_REGISTER_ATEN_LAYER("conv_transpose2d", map_conv_transpose, "ConvTranspose")
QUENCH_REGISTER_ATEN_LAYER("conv_transpose3d", map_conv_transpose, "ConvTranspose")

}  // namespace quench
