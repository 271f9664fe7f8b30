#include "ops/macs.h"

#include "ops/shape_rules.h"

namespace quench {
namespace {

std::int64_t number_or_unknown(const Dim& count) { return count.is_number() ? count.number() : -1; }

}  // namespace

std::int64_t product_macs(const Node& node) {
  const Value *y = node.outputs().empty() ? nullptr : node.outputs()[0], *a = node.input(0);
  if (!y || !a || !y->has_rank() || !a->has_rank() || a->dims().empty()) return -1;
  const bool by_column = node.op().ends_with("Gemm") && node.get_int("transA", 0) != 0;
  return number_or_unknown(product(y->dims(), 0, y->dims().size()) *
                           (by_column ? a->dims().front() : a->dims().back()));
}

std::int64_t recurrent_macs(const Node& node) {
  const Value* x = node.input(0);
  if (!x || !x->has_rank() || x->dims().size() != 3) return -1;
  Dim weights(0);
  for (const int slot : {1, 2}) {
    const Value* weight = node.input(slot);
    if (!weight || !weight->has_rank()) return -1;
    const Dim count = product(weight->dims(), 0, weight->dims().size());
    if (!count.is_number()) return -1;
    weights = Dim(weights.number() + count.number());
  }
  return number_or_unknown(product(x->dims(), 0, 2) * weights);
}

std::int64_t unknown_macs(const Node&) { return -1; }

}  // namespace quench
