// Softmax and LayerNormalization of floats.
#include <ATen/ATen.h>

#include "engine/builder.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;

int plain_float_input(Builder& builder, const Node& node) {
  const int x = builder.float_kernels() ? builder.input(*node.input(0)) : -1;
  return x >= 0 && builder.layout(x).get_data_type() == Type::f32 ? builder.plain(x) : -1;
}

bool build_softmax(Builder& builder, const Node& node) {
  const int x = plain_float_input(builder, node);
  if (x < 0) return false;
  const auto rank = static_cast<std::int64_t>(builder.layout(x).get_dims().size());
  std::int64_t axis = node.get_int("axis", -1);
  if (axis < 0) axis += rank;
  const dnnl::softmax_forward::primitive_desc description(onednn_cpu(), dnnl::prop_kind::forward_inference,
                                                          dnnl::algorithm::softmax_accurate, builder.layout(x),
                                                          builder.layout(x), static_cast<int>(axis), attributes_with());
  const int y = builder.add_slot(builder.layout(x));
  add_primitive(builder, node, description, dnnl::softmax_forward(description), {{{DNNL_ARG_SRC, x}}, y, {}});
  builder.define(node.output(), y);
  return true;
}

bool build_layer_norm(Builder& builder, const Node& node) {
  const int x = plain_float_input(builder, node);
  const Value *scale = node.input(1), *shift = node.input(2);
  if (x < 0 || !scale || !scale->is_constant() || !shift || !shift->is_constant()) return false;
  const DnnlLayout& layout = builder.layout(x);
  const std::int64_t width = layout.get_dims().back();
  std::int64_t axis = node.get_int("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(layout.get_dims().size());
  const bool last = axis + 1 == static_cast<std::int64_t>(layout.get_dims().size());
  const bool one_output = node.outputs().size() == 1;
  if (!last || !one_output || scale->tensor().numel() != width || shift->tensor().numel() != width) return false;
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::primitive_desc description(
      onednn_cpu(), dnnl::prop_kind::forward_inference, layout, layout,
      static_cast<float>(node.get_float("epsilon", 1e-5)), flags, attributes_with());
  PrimitiveCall call{{{DNNL_ARG_SRC, x}}, builder.add_slot(layout), {}};
  const DnnlLayout row = plain_layout({width}, Type::f32);
  call.constants.emplace_back(DNNL_ARG_SCALE,
                              builder.weights().get(scale->name(), row, [&] { return scale->tensor().reshape(-1); }));
  call.constants.emplace_back(DNNL_ARG_SHIFT,
                              builder.weights().get(shift->name(), row, [&] { return shift->tensor().reshape(-1); }));
  builder.define(node.output(), call.output);
  add_primitive(builder, node, description, dnnl::layer_normalization_forward(description), std::move(call));
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("Softmax", quench::build_softmax)
QUENCH_REGISTER_ENGINE_OP("LayerNormalization", quench::build_layer_norm)
