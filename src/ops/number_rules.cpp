#include "ops/number_rules.h"

#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/shape_rules.h"

namespace quench {
namespace {

constexpr std::int64_t kMost = 1024;  // numbers of a shape; more are data

}  // namespace

std::optional<std::size_t> input_count(const Node& node, int slot) {
  const std::optional<Dims> dims = input_dims(node, slot);
  if (!dims || dims->size() > 1) return std::nullopt;
  if (dims->empty()) return 1;
  const Dim& count = dims->front();
  const bool known = count.is_number() && count.number() >= 0 && count.number() <= kMost;
  return known ? std::optional(static_cast<std::size_t>(count.number())) : std::nullopt;
}

std::optional<std::vector<double>> input_numbers(const Node& node, int slot) {
  const Value* value = node.input(slot);
  if (value && value->is_constant() && value->tensor().numel() <= kMost)
    return numbers_at({RtValue(value->tensor(), value->dtype())}, 0);
  const auto integers = input_integers(node, slot);
  return integers ? std::optional(std::vector<double>(integers->begin(), integers->end())) : std::nullopt;
}

Dim add_dims(const Dim& a, const Dim& b) {
  if (a.is_number() && a.number() == 0) return b;
  if (b.is_number() && b.number() == 0) return a;
  std::int64_t sum = 0;
  if (!a.is_number() || !b.is_number() || __builtin_add_overflow(a.number(), b.number(), &sum)) return {};
  return sum;
}

}  // namespace quench
