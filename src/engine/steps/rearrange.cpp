// What only moves elements: Reshape and its relatives are other views of plain memory, Transpose and Concat copies.
#include "engine/builder.h"

namespace quench {
namespace {

std::optional<Sizes> output_sizes(const Node& node) {
  return node.output().has_rank() && node.output().rank() > 0 ? sizes_of(node.output().dims()) : std::nullopt;
}

bool build_view(Builder& builder, const Node& node) {
  const auto sizes = output_sizes(node);
  const int x = builder.input(*node.input(0));
  if (!sizes || x < 0) return false;
  const int plain = builder.plain(x);
  builder.define(node.output(), builder.add_alias(plain, plain_layout(*sizes, builder.layout(x).get_data_type())));
  return true;
}

bool build_transpose(Builder& builder, const Node& node) {
  const auto sizes = output_sizes(node);
  const int x = builder.input(*node.input(0));
  if (!sizes || x < 0) return false;
  const int from = is_blocked(builder.layout(x)) ? builder.plain(x) : x;
  const Sizes strides = strides_of(builder.layout(from));
  Sizes perm = node.get_ints("perm", {}), moved;
  if (perm.empty())
    for (std::size_t d = sizes->size(); d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  for (const std::int64_t d : perm) moved.push_back(strides.at(static_cast<std::size_t>(d)));
  const auto type = builder.layout(x).get_data_type();
  // The same memory with its dims in another order, then a copy into plain order.
  const int view = builder.add_alias(from, DnnlLayout(*sizes, type, moved));
  builder.define(node.output(), builder.input_as(view, plain_layout(*sizes, type)));
  return true;
}

bool build_concat(Builder& builder, const Node& node) {
  const auto sizes = output_sizes(node);
  if (!sizes) return false;
  std::int64_t axis = node.require_int("axis");
  if (axis < 0) axis += static_cast<std::int64_t>(sizes->size());
  PrimitiveCall call;
  std::vector<DnnlLayout> layouts;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const int x = node.inputs()[i]->is_constant() ? -1 : builder.input(*node.inputs()[i]);
    if (x < 0) return false;
    const bool is_float = builder.layout(x).get_data_type() == dnnl::memory::data_type::f32;
    if (is_float && !builder.float_kernels()) return false;
    call.reads.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), x);
    layouts.push_back(builder.layout(x));
  }
  const dnnl::concat::primitive_desc description(onednn_cpu(), static_cast<int>(axis), layouts, attributes_with());
  call.output = builder.add_slot(description.dst_desc());
  builder.define(node.output(), call.output);
  add_primitive(builder, node, description, dnnl::concat(description), std::move(call));
  return true;
}

}  // namespace
}  // namespace quench

using quench::build_view;
QUENCH_REGISTER_ENGINE_OP("Reshape", build_view)
QUENCH_REGISTER_ENGINE_OP("Flatten", build_view)
QUENCH_REGISTER_ENGINE_OP("Squeeze", build_view)
QUENCH_REGISTER_ENGINE_OP("Unsqueeze", build_view)
QUENCH_REGISTER_ENGINE_OP("Identity", build_view)
QUENCH_REGISTER_ENGINE_OP("Transpose", quench::build_transpose)
QUENCH_REGISTER_ENGINE_OP("Concat", quench::build_concat)
