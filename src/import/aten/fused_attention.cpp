// Self-attention, and a whole encoder layer, as one operator: what nn.MultiheadAttention and nn.TransformerEncoderLayer
// run where no gradient is wanted, and so what a trace made there holds. MatMul, Softmax, MatMul between two linear
// layers.
#include <ATen/ATen.h>

#include <cmath>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

Value& linear(AtenCall& call, Value& x, const std::string& weight, const std::string& bias) {
  Value& product = call.aux("MatMul", {&x, &call.transpose(call.tensor(weight), {1, 0})});
  return call.aux("Add", {&product, &call.tensor(bias)});
}

// [batch, time, 3 * heads * width] -> the which-th third of it, [batch, heads, time, width]
Value& head_input(AtenCall& call, Value& split, std::int64_t which) {
  Value& part = call.aux("Gather", {&split, &call.scalar(static_cast<double>(which), DType::kInt64)},
                         {{"axis", std::int64_t{2}}});
  return call.transpose(part, {0, 2, 1, 3});
}

Value& self_attention(AtenCall& call, Value& x, std::int64_t width, std::int64_t heads) {
  const std::vector<AtenInt> sizes = call.sizes_of(x);
  Value& qkv = linear(call, x, "qkv_weight", "qkv_bias");
  Value& split = call.reshape(qkv, {sizes[0], sizes[1], 3, heads, width / heads});
  Value &q = head_input(call, split, 0), &k = head_input(call, split, 1), &v = head_input(call, split, 2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads));
  Value& scaled = call.aux("Mul", {&q, &call.scalar(scale, x.dtype())});
  Value& scores = call.aux("MatMul", {&scaled, &call.transpose(k, {0, 1, 3, 2})});
  Value& weights = call.aux("Softmax", {&scores}, {{"axis", std::int64_t{-1}}});
  Value& joined = call.transpose(call.aux("MatMul", {&weights, &v}), {0, 2, 1, 3});
  return linear(call, call.reshape(joined, {sizes[0], sizes[1], width}), "proj_weight", "proj_bias");
}

void check_mask(const AtenCall& call) { QUENCH_CHECK(!call.has("mask"), call.where(), ": a mask is not supported"); }

Values map_native_attention(AtenCall& call) {
  Value& query = call.tensor("query");
  QUENCH_CHECK(&query == &call.tensor("key") && &query == &call.tensor("value"), call.where(),
               ": attention between two sequences is not supported");
  QUENCH_CHECK(!call.flag("need_weights", true), call.where(),
               ": the weights of attention as a result are not supported");
  check_mask(call);
  return {&self_attention(call, query, call.integer("embed_dim"), call.integer("num_head")), nullptr};
}

Value& norm(AtenCall& call, Value& x, const char* which) {
  return call.aux("LayerNormalization",
                  {&x, &call.tensor(concat("norm_weight_", which)), &call.tensor(concat("norm_bias_", which))},
                  {{"axis", std::int64_t{-1}}, {"epsilon", call.real("eps", 1e-5)}});
}

Value& feed_forward(AtenCall& call, Value& x) {
  Value& hidden = linear(call, x, "ffn_weight_1", "ffn_bias_1");
  Value& active = call.flag("use_gelu") ? call.aux("Gelu", {&hidden}) : call.aux("Relu", {&hidden});
  return linear(call, active, "ffn_weight_2", "ffn_bias_2");
}

// Each half is added to what it reads, and normalized before (norm_first) or after that.
Values map_encoder_layer(AtenCall& call) {
  check_mask(call);
  Value* x = &call.tensor("src");
  const bool first = call.flag("norm_first");
  const auto attention = [&](Value& in) -> Value& {
    return self_attention(call, in, call.integer("embed_dim"), call.integer("num_heads"));
  };
  x = &call.aux("Add", {x, &attention(first ? norm(call, *x, "1") : *x)});
  if (!first) x = &norm(call, *x, "1");
  x = &call.aux("Add", {x, &feed_forward(call, first ? norm(call, *x, "2") : *x)});
  return {first ? x : &norm(call, *x, "2")};
}

}  // namespace

QUENCH_REGISTER_ATEN("_native_multi_head_attention", map_native_attention, "MatMul, Softmax, MatMul")
QUENCH_REGISTER_ATEN("_transformer_encoder_layer_fwd", map_encoder_layer, "the same between two LayerNormalizations")

}  // namespace quench
