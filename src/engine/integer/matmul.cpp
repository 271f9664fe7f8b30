// quench.QGemm and quench.QMatMul by oneDNN, with constant weights (two activations: matmul_pair.h).
#include <ATen/ATen.h>

#include "engine/integer/matmul_pair.h"
#include "engine/integer/own_product.h"
#include "engine/integer/product.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;
using MatMul = dnnl::matmul;

// x [rows, K] times w [channels, K], both by name of the node.
bool add_product(Builder& builder, const Node& node, const IntegerForm& form, int axis) {
  const auto y_sizes = sizes_of(node.output().dims());
  const int given = builder.input(*node.input(0));
  const std::optional<ByteProduct> product = given >= 0 && y_sizes ? byte_product(node, form, axis) : std::nullopt;
  if (!product || product->sizes.size() != 2) return false;
  const int plain = builder.plain(given);
  const std::int64_t channels = product->sizes[0], depth = product->sizes[1];
  std::int64_t rows = 1;
  for (const std::int64_t size : *y_sizes) rows *= size;
  rows /= channels;
  const auto x_type = builder.layout(plain).get_data_type();
  const int x = builder.add_alias(plain, plain_layout({rows, depth}, x_type));
  const DnnlLayout all = plain_layout(*y_sizes, product->y_signed ? Type::s8 : Type::u8);
  if (fits_own_product(*product, {}, 1)) {
    builder.define(node.output(), builder.add_alias(add_own_product(builder, node, form, *product, {}, x), all));
    return true;
  }
  const DnnlLayout w({depth, channels}, Type::s8, dnnl::memory::format_tag::any);
  const DnnlLayout y = plain_layout({rows, channels}, sums_type(*product));
  const dnnl::primitive_attr attributes = attributes_with(code_post_ops(*product, 2));
  const MatMul::primitive_desc description =
      product->fits_float ? MatMul::primitive_desc(onednn_cpu(), builder.layout(x), w,
                                                   plain_layout({1, channels}, Type::f32), y, attributes)
                          : MatMul::primitive_desc(onednn_cpu(), builder.layout(x), w, y, attributes);
  PrimitiveCall call{{{DNNL_ARG_SRC, x}}, builder.add_slot(y), {}};
  call.constants.emplace_back(DNNL_ARG_WEIGHTS,
                              builder.weights().get(node.name() + ".weight", description.weights_desc(),
                                                    [&] { return weight_tensor(*product).t().contiguous(); }));
  if (product->fits_float)
    call.constants.emplace_back(
        DNNL_ARG_BIAS, builder.weights().get(node.name() + ".bias", description.bias_desc(), [&] {
          return at::tensor(at::ArrayRef<std::int32_t>(product->bias)).to(at::kFloat).reshape({1, channels});
        }));
  add_code_arguments(builder, node, *product, 2, call);
  const int sums = call.output;
  add_primitive(builder, node, description, MatMul(description), std::move(call));
  const int codes = finish_codes(builder, node, form, *product, sums);
  builder.define(node.output(), builder.add_alias(codes, all));
  return true;
}

bool build_gemm(Builder& builder, const Node& node) {
  if (node.get_int("transA", 0) != 0) return false;
  return add_product(builder, node, integer_form(node), node.get_int("transB", 0) != 0 ? 0 : 1);
}

bool build_matmul(Builder& builder, const Node& node) {
  const IntegerForm form = integer_form(node);
  const Value& weight = *node.input(form.slots[1]);
  if (!weight.is_constant()) return build_matmul_pair(builder, node, form);
  return weight.tensor().dim() == 2 && node.input(0)->rank() >= 2 && add_product(builder, node, form, 1);
}

}  // namespace
}  // namespace quench

QUENCH_REGISTER_ENGINE_OP("quench.QGemm", quench::build_gemm)
QUENCH_REGISTER_ENGINE_OP("quench.QMatMul", quench::build_matmul)
