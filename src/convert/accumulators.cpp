#include "convert/accumulators.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "ops/integer_form.h"
#include "quant/accumulator.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr double kInt32 = std::numeric_limits<std::int32_t>::max();

// The axis of output channels in a constant weight.
std::int64_t channel_axis(const Node& node) {
  const std::string op = float_op(node);
  if (op == "Gemm") return node.get_int("transB", 0) != 0 ? 0 : 1;
  if (op == "ConvTranspose") return 1;
  return op == "Conv" ? 0 : -1;
}

// Of two activations: a bound by their number, where that is known.
double product_bound(const Node& node, const IntegerForm& form) {
  const Value& a = *node.input(form.slots[0]);
  const bool known = a.has_rank() && a.rank() > 0 && a.dims().back().is_number();
  if (!known) return std::numeric_limits<double>::infinity();
  return static_cast<double>(accumulator_bound(a.dims().back().number(), form.in[0], form.in[1]));
}

double worst_case(const Node& node, const IntegerForm& form) {
  const std::string op = float_op(node);
  if (op == "Mul") return static_cast<double>(accumulator_bound(1, form.in[0], form.in[1]));
  const bool multiplies = op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul";
  if (!multiplies) return 0.0;  // sums are checked as they are made
  const Value& weight = *node.input(form.slots[1]);
  if (!weight.is_constant()) return product_bound(node, form);
  const Value* bias = form.bias_slot < 0 ? nullptr : node.input(form.bias_slot);
  return static_cast<double>(largest_accumulator(form.in[0], {weight.tensor(), form.in[1]}, channel_axis(node),
                                                 bias ? bias->tensor() : at::Tensor()));
}

}  // namespace

void check_accumulators(const Graph& converted, ConvertRecord& record) {
  for (const auto& node : converted.nodes()) {
    if (float_op(*node).empty()) continue;
    const double worst = worst_case(*node, integer_form(*node));
    if (worst <= kInt32) {
      record.largest_accumulator = std::max(record.largest_accumulator, worst / kInt32);
    } else {
      record.warnings.push_back(concat(node->where(), ": its accumulator can reach ", worst,
                                       ", more than int32 holds; data that does so stops the run"));
    }
  }
}

}  // namespace quench
