// scaled_dot_product_attention -> MatMul, Add, Softmax, MatMul.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

Value& masked(AtenCall& call, Value& scores, Value& allowed) {
  return call.aux("Where", {&allowed, &scores, &call.scalar(kMasked, scores.dtype())});
}

// The lower triangle of ones, [L, S]; of whatever sizes the input brings.
Value& causal_mask(AtenCall& call, Value& query, Value& key) {
  const AtenInt rows = call.sizes_of(query)[static_cast<std::size_t>(query.rank() - 2)];
  const AtenInt columns = call.sizes_of(key)[static_cast<std::size_t>(key.rank() - 2)];
  if (rows.is_number() && columns.is_number())
    return call.constant(at::ones({rows.number, columns.number}, at::kBool).tril());
  Value& ones = call.aux("Expand", {&call.scalar(1.0, DType::kInt32), &call.shape_value({rows, columns})});
  return call.cast(call.aux("Trilu", {&ones}, {{"upper", std::int64_t{0}}}), DType::kBool);
}

// [batch, heads, length, width]: each head as often as there are queries to it, one after the other.
Value& repeat_heads(AtenCall& call, Value& x, const Value& query) {
  QUENCH_CHECK(x.rank() == 4 && query.rank() == 4, call.where(), ": grouped queries have four dims");
  const Dim &heads = x.dims()[1], &queries = query.dims()[1], &width = x.dims()[3];
  const bool fixed = heads.is_number() && queries.is_number() && width.is_number();
  QUENCH_CHECK(fixed && heads.number() > 0 && queries.number() % heads.number() == 0, call.where(), ": ",
               queries.text(), " heads of queries for ", heads.text(), " of keys");
  if (heads == queries) return x;
  Value& apart = call.aux("Unsqueeze", {&x, &call.integers_constant({2})});
  const std::int64_t times = queries.number() / heads.number();
  Value& tiled = call.aux("Tile", {&apart, &call.integers_constant({1, 1, times, 1, 1})});
  return call.aux("Reshape", {&tiled, &call.integers_constant({0, queries.number(), -1, width.number()})});
}

Values map_attention(AtenCall& call) {
  Value& query = call.tensor("query");
  const bool grouped = call.flag("enable_gqa");
  const auto heads_of = [&](const char* arg) -> Value& {
    return grouped ? repeat_heads(call, call.tensor(arg), query) : call.tensor(arg);
  };
  Value &key = heads_of("key"), &value = heads_of("value");
  const int rank = query.rank();
  const Dim& width = query.dims()[static_cast<std::size_t>(rank - 1)];
  QUENCH_CHECK(width.is_number(), call.where(), ": the width of a head must be fixed");
  const double scale = call.real("scale", 1.0 / std::sqrt(static_cast<double>(width.number())));
  std::vector<std::int64_t> perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i < rank - 2 ? i : 2 * rank - 3 - i);
  Value& scaled = call.aux("Mul", {&query, &call.scalar(scale, query.dtype())});
  Value* scores = &call.aux("MatMul", {&scaled, &call.transpose(key, perm)});
  if (call.flag("is_causal")) scores = &masked(call, *scores, causal_mask(call, query, key));
  if (Value* mask = call.tensor_or_null("attn_mask"))
    scores = mask->dtype() == DType::kBool ? &masked(call, *scores, *mask) : &call.aux("Add", {scores, mask});
  Value* weights = &call.aux("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (const double p = call.real("dropout_p", 0.0); p > 0.0)
    weights = &call.aux("Dropout", {weights, &call.scalar(p, DType::kFloat)});
  return {&call.make("MatMul", {weights, &value}), nullptr};  // the flash form gives a logarithm, too
}

}  // namespace

QUENCH_REGISTER_ATEN("_scaled_dot_product_flash_attention_for_cpu", map_attention, "Mul, MatMul, Softmax, MatMul")
QUENCH_REGISTER_ATEN("scaled_dot_product_attention", map_attention, "Mul, MatMul, Softmax, MatMul")

}  // namespace quench
