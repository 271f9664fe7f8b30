// Gemm and MatMul in float: with packed weights, or of two activations.
#include <ATen/ATen.h>

#include "engine/builder.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
using MatMul = dnnl::matmul;

// One product: x and y plain, the weights packed as oneDNN likes them.
bool add_product(Builder& builder, const Node& node, int x, const Value& weight, bool transposed, const Value* bias,
                 const Sizes& y_sizes) {
  const at::Tensor& w = weight.tensor();
  const Sizes x_sizes = builder.layout(x).get_dims();
  Sizes w_sizes(x_sizes.size(), 1);
  w_sizes[w_sizes.size() - 2] = w.size(transposed ? 1 : 0);
  w_sizes[w_sizes.size() - 1] = w.size(transposed ? 0 : 1);
  Sizes b_sizes(x_sizes.size(), 1);
  b_sizes.back() = w_sizes.back();
  const DnnlLayout any(w_sizes, Type::f32, dnnl::memory::format_tag::any);
  const DnnlLayout from = plain_layout(x_sizes, Type::f32), to = plain_layout(y_sizes, Type::f32);
  const MatMul::primitive_desc description =
      bias ? MatMul::primitive_desc(onednn_cpu(), from, any, plain_layout(b_sizes, Type::f32), to, attributes_with())
           : MatMul::primitive_desc(onednn_cpu(), from, any, to, attributes_with());
  PrimitiveCall call{{{DNNL_ARG_SRC, builder.plain(x)}}, builder.add_slot(to), {}};
  call.constants.emplace_back(
      DNNL_ARG_WEIGHTS,
      builder.weights().get(weight.name() + (transposed ? ".transposed" : ""), description.weights_desc(),
                            [&] { return (transposed ? w.t() : w).contiguous().reshape(w_sizes); }));
  if (bias)
    call.constants.emplace_back(DNNL_ARG_BIAS, builder.weights().get(bias->name(), description.bias_desc(),
                                                                     [&] { return bias->tensor().reshape(b_sizes); }));
  builder.define(node.output(), call.output);
  add_primitive(builder, node, description, MatMul(description), std::move(call));
  return true;
}

bool build_gemm(Builder& builder, const Node& node) {
  const Value *weight = node.input(1), *bias = node.input(2);
  const bool plain =
      node.get_int("transA", 0) == 0 && node.get_float("alpha", 1.0) == 1.0 && node.get_float("beta", 1.0) == 1.0;
  const bool fits = weight->is_constant() && weight->dtype() == DType::kFloat && weight->tensor().dim() == 2 &&
                    (!bias || (bias->is_constant() && bias->tensor().numel() == node.output().dims().back().number()));
  const auto y = sizes_of(node.output().dims());
  if (!builder.float_kernels() || !plain || !y || !fits) return false;
  const int x = builder.input(*node.input(0));
  return x >= 0 && add_product(builder, node, x, *weight, node.get_int("transB", 0) != 0, bias, *y);
}

// Operands of one rank; what is broadcast has sizes of 1.
bool add_product_of_two(Builder& builder, const Node& node, int a, int b, const Sizes& y_sizes) {
  const std::size_t rank = y_sizes.size();
  if (builder.layout(a).get_dims().size() != rank || builder.layout(b).get_dims().size() != rank) return false;
  const int left = builder.plain(a), right = builder.plain(b);
  const DnnlLayout to = plain_layout(y_sizes, Type::f32);
  const MatMul::primitive_desc description(onednn_cpu(), builder.layout(left), builder.layout(right), to,
                                           attributes_with());
  const int y = builder.add_slot(to);
  add_primitive(builder, node, description, MatMul(description),
                {{{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}}, y, {}});
  builder.define(node.output(), y);
  return true;
}

bool build_matmul(Builder& builder, const Node& node) {
  const auto y = node.output().has_rank() ? sizes_of(node.output().dims()) : std::nullopt;
  const Value& b = *node.input(1);
  if (!builder.float_kernels() || !y || y->size() < 2 || b.dtype() != DType::kFloat) return false;
  const int x = builder.input(*node.input(0));
  if (x < 0 || builder.layout(x).get_dims().size() != y->size()) return false;
  if (b.is_constant()) return b.tensor().dim() == 2 && add_product(builder, node, x, b, false, nullptr, *y);
  const int other = builder.input(b);
  return other >= 0 && add_product_of_two(builder, node, x, other, *y);
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("Gemm", quench::build_gemm)
QUENCH_REGISTER_ENGINE_OP("MatMul", quench::build_matmul)
