// Which values are never below zero: a forward walk over what the operators promise (D9). Clip and Max depend on
// their constants, and so are asked by name.
#include "platforms/plan/non_negative.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "ops/clamp.h"
#include "quench/op.h"

namespace quench {
namespace {

bool is_non_negative_constant(const Value& value) {
  const at::Tensor& tensor = value.tensor();
  return tensor.numel() > 0 && at::isFloatingType(tensor.scalar_type()) && (tensor >= 0).all().item<bool>();
}

// Shapes, axes and the like beside the data.
bool is_number(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kBool; }

}  // namespace

std::set<const Value*> non_negative_values(const Graph& graph) {
  std::set<const Value*> found;
  const auto known = [&](const Value* value) {
    return value && (found.contains(value) || (value->is_constant() && is_non_negative_constant(*value)));
  };
  for (const auto& node : graph.nodes()) {
    const OpTraits& traits = entry_of(*node).traits;
    bool positive = traits.non_negative || clamp_of(*node).low >= 0.0;
    if (node->op() == "Clip" && known(node->input(0))) positive = true;  // nobody has an upper bound below zero
    if (!positive && traits.keeps_sign) {
      positive = known(node->input(0));
      for (std::size_t slot = 1; slot < node->inputs().size(); ++slot) {
        const Value* input = node->inputs()[slot];
        if (input && !is_number(input->dtype())) positive = positive && known(input);
      }
    }
    if (positive && !node->outputs().empty() && node->outputs()[0]) found.insert(node->outputs()[0]);
  }
  return found;
}

}  // namespace quench
