// Add, Sub, Mul, Div of floats, with broadcasting; one operand may be a constant.
#include <ATen/ATen.h>

#include "engine/builder.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;

std::optional<dnnl::algorithm> algorithm_of(const std::string& op) {
  if (op == "Add") return dnnl::algorithm::binary_add;
  if (op == "Sub") return dnnl::algorithm::binary_sub;
  if (op == "Mul") return dnnl::algorithm::binary_mul;
  if (op == "Div") return dnnl::algorithm::binary_div;
  return std::nullopt;
}

Sizes with_rank(Sizes sizes, std::size_t rank) {
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  return sizes;
}

// The first operand has the result's sizes; the second is broadcast to them.
bool build_binary(Builder& builder, const Node& node) {
  const auto y_sizes = node.output().has_rank() ? sizes_of(node.output().dims()) : std::nullopt;
  const Value &a = *node.input(0), &b = *node.input(1);
  if (!builder.float_kernels() || !y_sizes || a.is_constant() || a.dtype() != DType::kFloat) return false;
  const int x = builder.input(a);
  if (x < 0 || builder.layout(x).get_dims() != *y_sizes) return false;
  PrimitiveCall call{{{DNNL_ARG_SRC_0, x}}, -1, {}};
  DnnlLayout second;
  if (b.is_constant()) {
    const Sizes sizes = with_rank(b.tensor().sizes().vec(), y_sizes->size());
    second = plain_layout(sizes, Type::f32);
    call.constants.emplace_back(DNNL_ARG_SRC_1,
                                builder.weights().get(b.name(), second, [&] { return b.tensor().reshape(sizes); }));
  } else {
    int other = builder.input(b);
    if (other < 0 || builder.layout(other).get_dims().size() != y_sizes->size()) return false;
    if (builder.layout(other).get_dims() == *y_sizes) other = builder.input_as(other, builder.layout(x));
    second = builder.layout(other);
    call.reads.emplace_back(DNNL_ARG_SRC_1, other);
  }
  const dnnl::binary::primitive_desc description(onednn_cpu(), *algorithm_of(node.op()), builder.layout(x), second,
                                                 builder.layout(x), attributes_with());
  call.output = builder.add_slot(builder.layout(x));
  builder.define(node.output(), call.output);
  add_primitive(builder, node, description, dnnl::binary(description), std::move(call));
  return true;
}

}  // namespace
}  // namespace quench

using quench::build_binary;
QUENCH_REGISTER_ENGINE_OP("Add", build_binary)
QUENCH_REGISTER_ENGINE_OP("Sub", build_binary)
QUENCH_REGISTER_ENGINE_OP("Mul", build_binary)
QUENCH_REGISTER_ENGINE_OP("Div", build_binary)
