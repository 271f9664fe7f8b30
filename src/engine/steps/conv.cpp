// Conv in float, with the residual Add and the activation behind it.
#include <ATen/ATen.h>

#include "engine/builder.h"
#include "engine/steps/activation.h"
#include "engine/steps/window.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
using Conv = dnnl::convolution_forward;

// What becomes part of the layer: Conv -> Add? -> activation?
struct Tail {
  const Node* add = nullptr;
  const Value* residual = nullptr;
  const Node* last = nullptr;
  std::optional<Eltwise> activation;  // of `last`
  const Value* output = nullptr;
};

bool same_dims(const Value& a, const Value& b) { return a.has_rank() && b.has_rank() && a.dims() == b.dims(); }

Tail tail_of(Builder& builder, const Node& conv) {
  Tail tail;
  tail.output = &conv.output();
  const Node* next = builder.only_reader(*tail.output);
  if (next && next->op() == "Add") {
    const Value* other = next->input(next->input(0) == tail.output ? 1 : 0);
    const bool ready = other && other != tail.output && !other->is_constant() && builder.is_defined(*other) &&
                       same_dims(*other, *tail.output) && builder.input(*other) >= 0;
    if (ready) {
      tail.add = next;
      tail.residual = other;
      tail.output = &next->output();
      next = builder.only_reader(*tail.output);
    }
  }
  if (next && is_worth_fusing(*next) && next->input(0) == tail.output) {
    tail.activation = eltwise_of(*next);
    tail.output = &next->output();
    tail.last = next;
  }
  return tail;
}

struct ConvShape {
  DnnlLayout x, w, bias, y;
  DnnlWindow window;
};

// Grouped weights have a dim more: [G, M/G, C/G, kernel...].
Sizes weight_sizes(const at::Tensor& weight, std::int64_t groups) {
  Sizes sizes = weight.sizes().vec();
  if (groups == 1) return sizes;
  sizes[0] /= groups;
  sizes.insert(sizes.begin(), groups);
  return sizes;
}

Conv::primitive_desc describe(const ConvShape& shape, const dnnl::primitive_attr& attributes) {
  const DnnlWindow& w = shape.window;
  const auto forward = dnnl::prop_kind::forward_inference;
  const auto direct = dnnl::algorithm::convolution_direct;
  if (shape.bias.is_zero())
    return {onednn_cpu(), forward,     direct,  shape.x, shape.w,   shape.y,
            w.strides,    w.dilations, w.begin, w.end,   attributes};
  return {onednn_cpu(), forward,   direct,      shape.x, shape.w, shape.bias,
          shape.y,      w.strides, w.dilations, w.begin, w.end,   attributes};
}

void append(dnnl::post_ops& ops, const Eltwise& function) {
  ops.append_eltwise(function.algorithm, function.alpha, function.beta);
}

bool build_conv(Builder& builder, const Node& node) {
  const Value *weight = node.input(1), *bias = node.input(2);
  const auto x_sizes = sizes_of(node.input(0)->dims()), y_sizes = sizes_of(node.output().dims());
  const bool fits = weight->is_constant() && weight->dtype() == DType::kFloat && (!bias || bias->is_constant());
  if (!builder.float_kernels() || !fits || !x_sizes || !y_sizes) return false;
  const int x = builder.input(*node.input(0));
  if (x < 0) return false;
  const std::int64_t groups = node.get_int("group", 1);
  const Sizes kernel(weight->tensor().sizes().begin() + 2, weight->tensor().sizes().end());
  const Sizes packed = weight_sizes(weight->tensor(), groups);
  ConvShape shape{{*x_sizes, Type::f32, dnnl::memory::format_tag::any},
                  {packed, Type::f32, dnnl::memory::format_tag::any},
                  {},
                  {*y_sizes, Type::f32, dnnl::memory::format_tag::any},
                  dnnl_window(node, kernel, *x_sizes, *y_sizes)};
  if (bias) shape.bias = plain_layout({bias->tensor().numel()}, Type::f32);
  Conv::primitive_desc description = describe(shape, attributes_with());  // throws where there is no kernel

  const Tail tail = tail_of(builder, node);
  dnnl::post_ops post_ops;
  PrimitiveCall call;
  if (tail.residual) {
    const int residual = builder.input_as(builder.input(*tail.residual), description.dst_desc());
    call.reads.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, residual);
    post_ops.append_binary(dnnl::algorithm::binary_add, builder.layout(residual));
  }
  if (tail.activation) append(post_ops, *tail.activation);
  shape.x = description.src_desc();
  shape.y = description.dst_desc();
  description = describe(shape, attributes_with(post_ops));

  call.reads.emplace_back(DNNL_ARG_SRC, builder.input_as(x, description.src_desc()));
  call.output = builder.add_slot(description.dst_desc());
  call.constants.emplace_back(DNNL_ARG_WEIGHTS, builder.weights().get(weight->name(), description.weights_desc(), [&] {
    return weight->tensor().reshape(packed);
  }));
  if (bias)
    call.constants.emplace_back(DNNL_ARG_BIAS, builder.weights().get(bias->name(), description.bias_desc(),
                                                                     [&] { return bias->tensor().reshape(-1); }));
  const int y = call.output;
  add_primitive(builder, node, description, Conv(description), std::move(call));
  builder.define(*tail.output, y);
  if (tail.add) builder.absorb(*tail.add);
  if (tail.last) builder.absorb(*tail.last);
  return true;
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("Conv", quench::build_conv)
