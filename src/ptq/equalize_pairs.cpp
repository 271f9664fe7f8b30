#include "ptq/equalize_pairs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "ops/clamp.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

bool is_linear(const Node& node) { return node.op() == "Gemm" || node.op() == "MatMul"; }

bool is_weighted(const Node& node) { return node.op() == "Conv" || is_linear(node); }

bool is_own_constant(const Value& value) { return value.is_constant() && value.uses().size() == 1; }

// "" if channels of its weight (and bias) can be scaled.
std::string why_fixed(const Node& node) {
  const Value *weight = node.input(1), *bias = node.op() == "MatMul" ? nullptr : node.input(2);
  if (!weight || !weight->is_constant()) return "its weight is computed";
  if (!is_own_constant(*weight)) return "its weight is shared";
  if (node.op() == "MatMul") return weight->tensor().dim() == 2 ? "" : "its weight is not a matrix";
  if (bias && !is_own_constant(*bias)) return "its bias is computed or shared";
  if (bias && bias->rank() != 1) return "its bias is not one number per channel";
  const bool scaled = node.get_float("alpha", 1) != 1 || node.get_float("beta", 1) != 1;
  return node.op() == "Gemm" && (scaled || node.get_int("transA", 0) != 0) ? "it scales or transposes" : "";
}

// Where the channels lie in what a layer reads or writes; -1 if the rank is not known.
int channel_axis(const Node& layer, const Value& value) {
  if (layer.op() != "MatMul") return 1;
  return value.has_rank() ? value.rank() - 1 : -1;
}

// Relu up to a height. Scaled by c > 0, x goes through it as c f(x) as long as it is not cut.
bool is_capped_relu(const Node& node) {
  const Clamp clamp = clamp_of(node);
  return node.op() == "Clip" && node.input(2) && clamp.known && clamp.low == 0.0 && clamp.high > 0.0;
}

// x scaled per channel by c > 0 goes through it as c f(x). Pools mix what lies along the axes after the first two.
bool passes_scale(const Node& node, const Value& value, int axis) {
  static const std::set<std::string> elementwise = {"Relu", "LeakyRelu", "Dropout", "Identity"};
  static const std::set<std::string> pools = {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"};
  if (node.input(0) != &value) return false;
  if (node.op() == "PRelu") return node.input(1) && node.input(1)->is_constant();
  return elementwise.contains(node.op()) || (axis == 1 && pools.contains(node.op()));
}

// A product with another tensor passes the scale of one operand, where that is not stretched to the other's shape: the
// gate of a gated feed-forward layer.
bool multiplies(const Node& node, const Value& value) {
  if (node.op() != "Mul" || node.input(0) == node.input(1) || !value.has_rank() || !node.output().has_rank())
    return false;
  return value.dims() == node.output().dims();
}

std::string text_of(const Node& node) { return concat("'", node.name(), "' (", node.op(), ")"); }

// "" if `second` can take the factors of the pair's first layer.
std::string why_no_partner(const LayerPair& pair, const Node& second, const Value& read) {
  if (second.input(0) != &read) return concat(text_of(second), " reads it as its weight or bias");
  const std::string fixed = why_fixed(second);
  if (!fixed.empty()) return concat("after it, ", text_of(second), ": ", fixed);
  if (channel_axis(second, read) != pair.axis)
    return concat(text_of(second), " reads channels along a different axis than ", text_of(*pair.first),
                  " writes them");
  const std::int64_t written = output_rows(*pair.first, pair.first->input(1)->tensor()).size(0);
  const std::int64_t channels = input_rows(second, second.input(1)->tensor()).size(0);
  return channels == written ? "" : concat(text_of(second), " reads ", channels, " channels, not ", written);
}

// Walks from the first layer to its partner; returns what prevents the pair, or "".
std::string find_partner(LayerPair& pair) {
  const Value* value = &pair.first->output();
  pair.axis = channel_axis(*pair.first, *value);
  if (pair.axis < 0) return "the rank of its output is not known";
  while (true) {
    pair.between.push_back(value);
    if (value->is_graph_output()) return "what it writes is an output of the network";
    if (value->uses().size() != 1) return concat("'", value->name(), "' is read ", value->uses().size(), " times");
    Node& user = *value->uses()[0].node;
    if (is_weighted(user)) {
      pair.second = &user;
      return why_no_partner(pair, user, *value);
    }
    if (is_capped_relu(user) && user.input(0) == value) {
      if (pair.clip) return concat("two Clips lie between it and the next layer");
      pair.clip = &user;
    } else if (multiplies(user, *value)) {
      pair.gated = true;
    } else if (!passes_scale(user, *value, pair.axis)) {
      return concat(text_of(user), user.op() == "Clip" ? ", which is not a ReLU6," : "", " after it fixes the scale");
    }
    value = &user.output();
  }
}

std::string why_unmeasured(const LayerPair& pair) {
  if (pair.gated)
    return concat("a product in front of '", pair.second->name(), "': its range must be measured, which needs data");
  return concat("a ReLU6, '", pair.clip->name(), "': which channels it cuts must be measured, which needs data");
}

}  // namespace

std::vector<LayerPair> find_pairs(const Graph& graph, bool has_data, std::vector<std::string>& skipped) {
  std::vector<LayerPair> pairs;
  for (const auto& node : graph.nodes()) {
    if (!is_weighted(*node)) continue;
    LayerPair pair;
    pair.first = node.get();
    std::string reason = why_fixed(*node);
    if (reason.empty()) reason = find_partner(pair);
    if (reason.empty() && (pair.gated || pair.clip) && !has_data) reason = why_unmeasured(pair);
    // Both operands of a product could take its factors: the first one does.
    const auto taken =
        std::find_if(pairs.begin(), pairs.end(), [&](const LayerPair& other) { return other.second == pair.second; });
    if (reason.empty() && taken != pairs.end())
      reason = concat("'", pair.second->name(), "' takes the factors of '", taken->first->name(), "'");
    if (reason.empty())
      pairs.push_back(std::move(pair));
    else
      skipped.push_back(concat(node->name(), ": ", reason));
  }
  return pairs;
}

double height_of(const Node& clip) { return clamp_of(clip).high; }

at::Tensor output_rows(const Node& layer, const at::Tensor& weight) {
  const int axis = entry_of(layer).traits.weight_axis(layer);
  return weight.movedim(axis, 0).flatten(1);
}

// Conv [O, I/g, ...] with g groups: input channel i meets only the outputs of its group.
at::Tensor input_rows(const Node& layer, const at::Tensor& weight) {
  if (is_linear(layer)) return weight.movedim(1 - entry_of(layer).traits.weight_axis(layer), 0).flatten(1);
  const std::int64_t groups = layer.get_int("group", 1), inputs = weight.size(1);
  return weight.reshape({groups, weight.size(0) / groups, inputs, -1}).transpose(1, 2).reshape({groups * inputs, -1});
}

at::Tensor scale_inputs(const Node& layer, const at::Tensor& weight, const at::Tensor& factors) {
  if (is_linear(layer)) {
    const bool rows = entry_of(layer).traits.weight_axis(layer) == 0;
    return weight * (rows ? factors.reshape({1, -1}) : factors.reshape({-1, 1}));
  }
  const std::int64_t groups = layer.get_int("group", 1), inputs = weight.size(1);
  const at::Tensor grouped = weight.reshape({groups, weight.size(0) / groups, inputs, -1});
  return (grouped * factors.reshape({groups, 1, inputs, 1})).reshape(weight.sizes());
}

at::Tensor scale_outputs(const Node& layer, const at::Tensor& weight, const at::Tensor& factors) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(weight.dim()), 1);
  shape[static_cast<std::size_t>(entry_of(layer).traits.weight_axis(layer))] = -1;
  return weight * factors.reshape(shape);
}

}  // namespace quench
