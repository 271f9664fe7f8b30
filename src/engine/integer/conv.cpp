// quench.QConv: by oneDNN, or, depthwise 3x3, by a loop of ours.
#include <ATen/ATen.h>

#include "engine/integer/depthwise.h"
#include "engine/integer/own_product.h"
#include "engine/integer/pad.h"
#include "engine/integer/product.h"
#include "engine/steps/window.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
using Conv = dnnl::convolution_forward;

// Windows may also end before the image does: pads below 0.
bool has_pads(const DnnlWindow& window) {
  const auto is_some = [](std::int64_t pad) { return pad > 0; };
  return std::any_of(window.begin.begin(), window.begin.end(), is_some) ||
         std::any_of(window.end.begin(), window.end.end(), is_some);
}

at::Tensor bias_tensor(const ByteProduct& product) {
  return at::tensor(at::ArrayRef<std::int32_t>(product.bias)).to(at::kFloat);
}

bool build_conv(Builder& builder, const Node& node) {
  const IntegerForm form = integer_form(node);
  const auto x_sizes = sizes_of(node.input(0)->dims()), y_sizes = sizes_of(node.output().dims());
  int x = builder.input(*node.input(0));
  if (x < 0 || !x_sizes || !y_sizes) return false;
  const std::optional<ByteProduct> product = byte_product(node, form, 0);
  if (!product) return false;
  const Sizes w_sizes = product->sizes, kernel(w_sizes.begin() + 2, w_sizes.end());
  DnnlWindow window = dnnl_window(node, kernel, *x_sizes, *y_sizes);
  x = builder.input_as(x, channels_last_layout(*x_sizes, builder.layout(x).get_data_type()));
  const std::int64_t groups = node.get_int("group", 1);
  if (fits_depthwise(*product, window, groups)) return add_depthwise(builder, node, form, *product, window, x);

  // The code of zero around the image: oneDNN would pad with the code 0.
  const bool own = fits_own_product(*product, window, groups);
  if (has_pads(window) && (own || form.in[0].params.zero_point[0] != 0)) {
    x = add_padding(builder, node, x, window, form.in[0].params.zero_point[0]);
    window.begin.assign(window.begin.size(), 0);
    window.end.assign(window.end.size(), 0);
  }
  if (own) {
    builder.define(node.output(), add_own_product(builder, node, form, *product, window, x));
    return true;
  }
  Sizes packed = w_sizes;
  if (groups > 1) {
    packed[0] /= groups;
    packed.insert(packed.begin(), groups);
  }
  const int rank = static_cast<int>(y_sizes->size());
  const DnnlLayout w(packed, Type::s8, dnnl::memory::format_tag::any);
  const DnnlLayout y = channels_last_layout(*y_sizes, sums_type(*product));
  const auto forward = dnnl::prop_kind::forward_inference;
  const auto direct = dnnl::algorithm::convolution_direct;
  const dnnl::primitive_attr attributes = attributes_with(code_post_ops(*product, rank));
  const Conv::primitive_desc description =
      product->fits_float ? Conv::primitive_desc(onednn_cpu(), forward, direct, builder.layout(x), w,
                                                 plain_layout({w_sizes[0]}, Type::f32), y, window.strides,
                                                 window.dilations, window.begin, window.end, attributes)
                          : Conv::primitive_desc(onednn_cpu(), forward, direct, builder.layout(x), w, y, window.strides,
                                                 window.dilations, window.begin, window.end, attributes);
  PrimitiveCall call{{{DNNL_ARG_SRC, x}}, builder.add_slot(y), {}};
  call.constants.emplace_back(DNNL_ARG_WEIGHTS,
                              builder.weights().get(node.name() + ".weight", description.weights_desc(),
                                                    [&] { return weight_tensor(*product).reshape(packed); }));
  if (product->fits_float)
    call.constants.emplace_back(DNNL_ARG_BIAS, builder.weights().get(node.name() + ".bias", description.bias_desc(),
                                                                     [&] { return bias_tensor(*product); }));
  add_code_arguments(builder, node, *product, rank, call);
  const int sums = call.output;
  add_primitive(builder, node, description, Conv(description), std::move(call));
  builder.define(node.output(), finish_codes(builder, node, form, *product, sums));
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("quench.QConv", quench::build_conv)
