// Self-attention as one operator, which nn.MultiheadAttention runs where no gradient is wanted: MatMul, Softmax, MatMul
// between its two linear layers.
#include <ATen/ATen.h>

#include <cmath>

#include "import/aten.h"
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

Values map_native_attention(AtenCall& call) {
  Value& query = call.tensor("query");
  QUENCH_CHECK(&query == &call.tensor("key") && &query == &call.tensor("value"), call.where(),
               ": attention between two sequences is not supported");
  QUENCH_CHECK(!call.has("mask") && !call.flag("need_weights", true), call.where(),
               ": a mask, or the weights of attention as a result, are not supported");
  const std::int64_t width = call.integer("embed_dim"), heads = call.integer("num_head");
  const std::vector<AtenInt> sizes = call.sizes_of(query);
  Value& qkv = linear(call, query, "qkv_weight", "qkv_bias");
  Value& split = call.reshape(qkv, {sizes[0], sizes[1], 3, heads, width / heads});
  Value &q = head_input(call, split, 0), &k = head_input(call, split, 1), &v = head_input(call, split, 2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads));
  Value& scaled = call.aux("Mul", {&q, &call.scalar(scale, query.dtype())});
  Value& scores = call.aux("MatMul", {&scaled, &call.transpose(k, {0, 1, 3, 2})});
  Value& weights = call.aux("Softmax", {&scores}, {{"axis", std::int64_t{-1}}});
  Value& joined = call.transpose(call.aux("MatMul", {&weights, &v}), {0, 2, 1, 3});
  Value& product = call.aux("MatMul", {&call.reshape(joined, {sizes[0], sizes[1], width}),
                                       &call.transpose(call.tensor("proj_weight"), {1, 0})});
  return {&call.make("Add", {&product, &call.tensor("proj_bias")}), nullptr};
}

}  // namespace

QUENCH_REGISTER_ATEN("_native_multi_head_attention", map_native_attention, "MatMul, Softmax, MatMul")

}  // namespace quench
