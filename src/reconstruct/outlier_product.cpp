#include "reconstruct/outlier_product.h"

#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

bool is_fixed(const Value* value) {
  if (!value || value->is_constant()) return value != nullptr;
  const Node* producer = value->producer();
  return (is_quantizer(producer) || is_bias_quantizer(producer)) && producer->input(0)->is_constant();
}

// The one input of an operator with a constant; null if it has none or is something else.
const Value* other_than_constant(const Node& node) {
  if (node.inputs().size() != 2 || is_fixed(node.input(0)) == is_fixed(node.input(1))) return nullptr;
  return node.input(is_fixed(node.input(0)) ? 1 : 0);
}

// `value` is `x`, shifted and scaled along its channels, and quantized.
bool is_made_of(const Value* value, const Value* x) {
  while (value && value != x) {
    const Node* node = value->producer();
    if (is_quantizer(node))
      value = node->input(0);
    else
      value = node && (node->op() == "Mul" || node->op() == "Sub") ? other_than_constant(*node) : nullptr;
  }
  return value != nullptr;
}

// Of x with a weight, and perhaps an Add of its bias behind.
bool is_layer_of(const Value* value, const Value* x) {
  const Node* layer = value ? value->producer() : nullptr;
  if (layer && layer->op() == "Add")
    layer = other_than_constant(*layer) ? other_than_constant(*layer)->producer() : nullptr;
  const int slot = layer ? entry_of(*layer).traits.weight_slot : -1;
  return slot > 0 && is_fixed(layer->input(slot)) && is_made_of(layer->input(0), x);
}

}  // namespace

bool is_outlier_product(const Node* node) {
  if (!node || node->op() != "MatMul" || !is_fixed(node->input(1)) || node->output().uses().size() != 1) return false;
  const Node *gather = node->input(0)->producer(), *sum = node->output().uses()[0].node;
  const bool takes_channels = gather && gather->op() == "Gather" && gather->get_int("axis", 0) == -1 &&
                              gather->input(1)->is_constant() && gather->input(1)->rank() == 1;
  if (!takes_channels || sum->op() != "Add") return false;
  return is_layer_of(sum->input(sum->input(0) == &node->output() ? 1 : 0), gather->input(0));
}

}  // namespace quench
