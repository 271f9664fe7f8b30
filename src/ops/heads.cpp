#include "ops/heads.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/graph.h"

namespace quench {

at::Tensor split_heads(const Node& node, const at::Tensor& x, const char* attr) {
  if (x.dim() == 4) return x;
  QUENCH_CHECK(x.dim() == 3, node.where(), ": data must have rank 3 or 4, not ", x.dim());
  const std::int64_t heads = node.require_int(attr);
  QUENCH_CHECK(heads > 0 && x.size(2) % heads == 0, node.where(), ": ", x.size(2), " columns do not make ", heads,
               " heads");
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor merge_heads(const at::Tensor& x) { return x.transpose(1, 2).flatten(2); }

std::int64_t query_heads_per_key(const Node& node, std::int64_t query_heads, std::int64_t key_heads) {
  QUENCH_CHECK(key_heads > 0 && query_heads % key_heads == 0, node.where(), ": ", query_heads,
               " query heads do not share ", key_heads, " key heads evenly");
  return query_heads / key_heads;
}

}  // namespace quench
