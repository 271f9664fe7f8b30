// Pools: of floats, and the largest of codes.
#include "engine/builder.h"
#include "engine/steps/window.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
using Pool = dnnl::pooling_forward;

bool add_pool(Builder& builder, const Node& node, dnnl::algorithm algorithm, const DnnlWindow& window, int x) {
  const auto sizes = sizes_of(node.output().dims());
  const DnnlLayout& from = builder.layout(x);
  const bool codes = from.get_data_type() != Type::f32;
  const DnnlLayout to = codes ? channels_last_layout(*sizes, from.get_data_type())
                              : DnnlLayout(*sizes, from.get_data_type(), dnnl::memory::format_tag::any);
  const Pool::primitive_desc description(onednn_cpu(), dnnl::prop_kind::forward_inference, algorithm, from, to,
                                         window.strides, window.kernel, window.dilations, window.begin, window.end,
                                         attributes_with());
  const int y = builder.add_slot(description.dst_desc());
  add_primitive(builder, node, description, Pool(description), {{{DNNL_ARG_SRC, x}}, y, {}});
  builder.define(node.output(), y);
  return true;
}

bool has_one_output(const Node& node) { return node.outputs().size() == 1 || !node.outputs()[1]; }

int pool_input(Builder& builder, const Node& node) {
  const int x = builder.input(*node.input(0));
  const bool known = x >= 0 && builder.layout(x).get_ndims() >= 3 && node.output().has_rank() &&
                     sizes_of(node.output().dims()) && has_one_output(node);
  return known ? x : -1;
}

bool build_max_pool(Builder& builder, const Node& node) {
  int x = pool_input(builder, node);
  if (x < 0) return false;
  const Type type = builder.layout(x).get_data_type();
  if (type == Type::s32 || (type == Type::f32 && !builder.float_kernels())) return false;
  const Sizes sizes = builder.layout(x).get_dims();
  if (type != Type::f32) x = builder.input_as(x, channels_last_layout(sizes, type));
  return add_pool(builder, node, dnnl::algorithm::pooling_max,
                  dnnl_window(node, {}, sizes, *sizes_of(node.output().dims())), x);
}

bool build_average_pool(Builder& builder, const Node& node) {
  const int x = pool_input(builder, node);
  // What ceil_mode reaches beyond the pads does not count at all, which oneDNN cannot express.
  if (x < 0 || !builder.float_kernels() || node.get_int("ceil_mode", 0) != 0) return false;
  if (builder.layout(x).get_data_type() != Type::f32) return false;
  const auto algorithm = node.get_int("count_include_pad", 0) != 0 ? dnnl::algorithm::pooling_avg_include_padding
                                                                   : dnnl::algorithm::pooling_avg_exclude_padding;
  const Sizes sizes = builder.layout(x).get_dims();
  return add_pool(builder, node, algorithm, dnnl_window(node, {}, sizes, *sizes_of(node.output().dims())), x);
}

bool build_global_average_pool(Builder& builder, const Node& node) {
  const int x = pool_input(builder, node);
  if (x < 0 || !builder.float_kernels() || builder.layout(x).get_data_type() != Type::f32) return false;
  const Sizes sizes = builder.layout(x).get_dims(), kernel(sizes.begin() + 2, sizes.end());
  const Sizes ones(kernel.size(), 1), zeros(kernel.size(), 0);
  return add_pool(builder, node, dnnl::algorithm::pooling_avg_exclude_padding, {kernel, ones, zeros, zeros, zeros}, x);
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("MaxPool", quench::build_max_pool)
QUENCH_REGISTER_ENGINE_OP("AveragePool", quench::build_average_pool)
QUENCH_REGISTER_ENGINE_OP("GlobalAveragePool", quench::build_global_average_pool)
