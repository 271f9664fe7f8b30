// What only moves elements: Reshape and its relatives are other views of plain memory; Transpose, Slice, Pad and Concat
// copies.
#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "engine/builder.h"
#include "graph/tensor_types.h"

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

std::int64_t element_bytes(const DnnlLayout& layout) {
  return layout.get_data_type() == dnnl::memory::data_type::f32 ||
                 layout.get_data_type() == dnnl::memory::data_type::s32
             ? 4
             : 1;
}

std::optional<Sizes> constant_integers(const Node& node, int slot) {
  const Value* value = node.input(slot);
  return value && value->is_constant() ? std::optional(integers_of(value->tensor())) : std::nullopt;
}

// A copy of a part of memory in the order that the whole has.
DnnlLayout dense_like(const Sizes& sizes, const DnnlLayout& whole) {
  return is_channels_last(whole) && !is_plain(whole) ? channels_last_layout(sizes, whole.get_data_type())
                                                     : plain_layout(sizes, whole.get_data_type());
}

// The elements that lie `begin` from the first, by steps.
bool build_slice(Builder& builder, const Node& node) {
  const auto sizes = output_sizes(node);
  const auto starts = constant_integers(node, 1), axes = constant_integers(node, 3), steps = constant_integers(node, 4);
  const int x = builder.input(*node.input(0));
  if (!sizes || x < 0 || !starts || (node.input(3) && !axes) || (node.input(4) && !steps)) return false;
  const int from = is_blocked(builder.layout(x)) ? builder.plain(x) : x;
  const DnnlLayout whole = builder.layout(from);
  Sizes strides = strides_of(whole);
  const Sizes all = whole.get_dims();
  std::int64_t shift = 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t given = axes ? (*axes)[i] : static_cast<std::int64_t>(i), step = steps ? (*steps)[i] : 1;
    if (step < 1) return false;
    const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(all.size()) : given);
    const std::int64_t start = (*starts)[i] < 0 ? (*starts)[i] + all[axis] : (*starts)[i];
    shift += std::clamp<std::int64_t>(start, 0, all[axis]) * strides[axis];
    strides[axis] *= step;
  }
  const int view =
      builder.add_alias(from, DnnlLayout(*sizes, whole.get_data_type(), strides), shift * element_bytes(whole));
  builder.define(node.output(), builder.input_as(view, dense_like(*sizes, whole)));
  return true;
}

class FillStep : public Task {
 public:
  FillStep(std::int64_t count, std::int64_t bytes, const void* value, int slot)
      : count_(count), bytes_(bytes), slot_(slot) {
    std::memcpy(&value_, value, static_cast<std::size_t>(bytes));
  }
  void run(Frame& frame) const override {
    if (bytes_ == 4) return void(std::fill_n(frame.as<std::uint32_t>(slot_), count_, value_));
    std::fill_n(frame.as<std::uint8_t>(slot_), count_, static_cast<std::uint8_t>(value_));
  }

 private:
  std::int64_t count_, bytes_;
  std::uint32_t value_ = 0;
  int slot_;
};

// Filled with the value, then x copied into its middle.
bool build_pad(Builder& builder, const Node& node) {
  const auto sizes = output_sizes(node);
  const auto pads = constant_integers(node, 1);
  const int x = builder.input(*node.input(0));
  const Value* value = node.input(2);
  const bool constant = node.get_string("mode", "constant") == "constant" && !node.input(3);
  if (!sizes || x < 0 || !pads || !constant || (value && !value->is_constant())) return false;
  if (std::any_of(pads->begin(), pads->end(), [](std::int64_t pad) { return pad < 0; })) return false;
  const int from = is_blocked(builder.layout(x)) ? builder.plain(x) : x;
  const DnnlLayout part = builder.layout(from), whole = dense_like(*sizes, part);
  const Sizes strides = strides_of(whole);
  std::int64_t shift = 0, count = 1;
  for (std::size_t d = 0; d < sizes->size(); ++d) {
    shift += (*pads)[d] * strides[d];
    count *= (*sizes)[d];
  }
  const std::uint32_t zero = 0;
  const int y = builder.add_slot(whole);
  builder.add_step(
      std::make_unique<FillStep>(count, element_bytes(whole), value ? value->tensor().const_data_ptr() : &zero, y),
      node, "own filling", {}, {y});
  const int middle =
      builder.add_alias(y, DnnlLayout(part.get_dims(), part.get_data_type(), strides), shift * element_bytes(whole));
  const dnnl::reorder::primitive_desc description(onednn_cpu(), part, onednn_cpu(), builder.layout(middle),
                                                  attributes_with());
  add_primitive(builder, node, description, dnnl::reorder(description), {{{DNNL_ARG_FROM, from}}, middle, {}});
  builder.define(node.output(), y);
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
QUENCH_REGISTER_ENGINE_OP("Slice", quench::build_slice)
QUENCH_REGISTER_ENGINE_OP("Pad", quench::build_pad)
QUENCH_REGISTER_ENGINE_OP("Concat", quench::build_concat)
