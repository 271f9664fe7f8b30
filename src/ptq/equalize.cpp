// Cross-layer equalization (numerics 10; Nagel et al. 2019, "Data-Free Quantization", eq. 9-11): for a pair of layers
// with only piecewise linear, channel-wise operators between,
//   r1 = max|W1| per output channel, r2 = max|W2| per input channel, c = sqrt(r1 r2) / r2
//   W1 <- W1 / c, b1 <- b1 / c, W2 <- W2 c
// Repeated over all pairs until the factors settle. MQBench leaves channels with r1 + r2 < 0.5 alone; here only those
// where one of the two is zero, which have no factor.
//
// Where the first layer's output is multiplied with another tensor on the way (the gate of a gated feed-forward layer),
// its weight says nothing of the range of what the second reads. r1 is then measured, max|x| per channel, which makes c
// the factor of SmoothQuant (Xiao et al. 2023, eq. 4) at alpha = 1/2; one round settles it.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "ptq/channel_ranges.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/ptq.h"

namespace quench {
namespace {

struct Pair {
  Node* first;
  Node* second;
  bool gated;          // a product lies between
  at::Tensor factors;  // the product over all rounds
};

// x scaled per channel by c > 0 goes through them as c f(x).
bool passes_scale(const Node& node) {
  static const std::vector<std::string> ops = {"Relu",        "LeakyRelu",         "PRelu",   "MaxPool", "Dropout",
                                               "AveragePool", "GlobalAveragePool", "Identity"};
  return std::find(ops.begin(), ops.end(), node.op()) != ops.end();
}

// A product with another tensor passes the scale of one operand, where that is not stretched to the other's shape: the
// gate of a gated feed-forward layer.
bool multiplies(const Node& node, const Value& value) {
  if (node.op() != "Mul" || node.input(0) == node.input(1) || !value.has_rank() || !node.output().has_rank())
    return false;
  return value.dims() == node.output().dims();
}

bool is_linear(const Node& node) { return node.op() == "Gemm" || node.op() == "MatMul"; }

bool has_constant_weight(const Node& node) {
  if (node.op() != "Conv" && !is_linear(node)) return false;
  if (!node.input(1) || !node.input(1)->is_constant() || node.input(1)->uses().size() != 1) return false;
  if (node.op() == "MatMul") return node.input(1)->tensor().dim() == 2;
  const Value* bias = node.input(2);
  if (bias && (!bias->is_constant() || bias->uses().size() != 1 || bias->rank() != 1)) return false;
  if (node.op() == "Gemm")
    return node.get_float("alpha", 1) == 1 && node.get_float("beta", 1) == 1 && node.get_int("transA", 0) == 0;
  return true;
}

// What lies behind `first`: its partner, or why there is none; and whether a product lies between.
Node* partner_of(const Node& first, bool& gated, std::string& reason) {
  const Value* value = &first.output();
  while (true) {
    if (value->is_graph_output() || value->uses().size() != 1) return nullptr;
    Node& user = *value->uses()[0].node;
    if (has_constant_weight(user) && user.input(0) == value)
      return first.op() == user.op() || user.op() == "Conv" ? &user : nullptr;
    if (user.op() == "Clip") reason = "a Clip between them fixes the scale";
    gated = gated || multiplies(user, *value);
    if (!passes_scale(user) && !multiplies(user, *value)) return nullptr;
    value = &user.output();
  }
}

// The weight as [output channels, rest], and as [input channels, rest].
at::Tensor by_output(const Node& node, const at::Tensor& w) {
  const int axis = entry_of(node).traits.weight_axis(node);
  return w.movedim(axis, 0).flatten(1);
}

// Conv [O, I/g, ...] with g groups: input channel i meets only the outputs of its group.
at::Tensor by_input(const Node& node, const at::Tensor& w) {
  if (is_linear(node)) return w.movedim(1 - entry_of(node).traits.weight_axis(node), 0).flatten(1);
  const std::int64_t groups = node.get_int("group", 1), inputs = w.size(1);
  return w.reshape({groups, w.size(0) / groups, inputs, -1}).transpose(1, 2).reshape({groups * inputs, -1});
}

at::Tensor scale_inputs(const Node& node, const at::Tensor& w, const at::Tensor& c) {
  if (is_linear(node))
    return entry_of(node).traits.weight_axis(node) == 0 ? w * c.reshape({1, -1}) : w * c.reshape({-1, 1});
  const std::int64_t groups = node.get_int("group", 1), inputs = w.size(1);
  const at::Tensor grouped = w.reshape({groups, w.size(0) / groups, inputs, -1});
  return (grouped * c.reshape({groups, 1, inputs, 1})).reshape(w.sizes());
}

at::Tensor scale_outputs(const Node& node, const at::Tensor& w, const at::Tensor& c) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(w.dim()), 1);
  shape[static_cast<std::size_t>(entry_of(node).traits.weight_axis(node))] = -1;
  return w * c.reshape(shape);
}

at::Tensor ranges(const at::Tensor& rows) { return rows.abs().amax(1).to(at::kDouble); }

double spread(const at::Tensor& range) {
  const at::Tensor alive = range.masked_select(range > 0);
  return alive.numel() == 0 ? 1.0 : (alive.max() / alive.min()).item<double>();
}

std::vector<Pair> find_pairs(const Graph& graph, bool has_data, EqualizeRecord& record) {
  std::vector<Pair> pairs;
  for (const auto& node : graph.nodes()) {
    if (!has_constant_weight(*node)) continue;
    std::string reason;
    bool gated = false;
    Node* second = partner_of(*node, gated, reason);
    if (second && gated && !has_data) {
      reason = concat("a product in front of '", second->name(), "': its range must be measured, which needs data");
      second = nullptr;
    }
    // Both operands of a product could take its factors: the first one does.
    if (second && gated &&
        std::any_of(pairs.begin(), pairs.end(), [&](const Pair& one) { return one.second == second; }))
      continue;
    if (!reason.empty()) record.skipped.push_back(concat(node->name(), ": ", reason));
    if (!second) continue;
    const std::int64_t outputs = by_output(*node, node->input(1)->tensor()).size(0);
    if (by_input(*second, second->input(1)->tensor()).size(0) != outputs) continue;  // a Flatten changed the channels
    pairs.push_back({node.get(), second, gated, at::ones({outputs}, at::kDouble)});
  }
  return pairs;
}

void set_scaled(Graph& graph, Value& constant, const at::Tensor& tensor) {
  graph.set_tensor(constant, tensor.to(constant.tensor().scalar_type()).contiguous());
}

// The largest relative move of a factor. `r1`: of each channel of the first.
double balance(Graph& graph, Pair& pair, const at::Tensor& r1) {
  Value& w1 = *pair.first->input(1);
  Value& w2 = *pair.second->input(1);
  const at::Tensor r2 = ranges(by_input(*pair.second, w2.tensor().detach()));
  const at::Tensor usable = (r1 > 0) & (r2 > 0);
  const at::Tensor c = at::where(usable, (r1 / r2).sqrt().clamp(1e-6, 1e6), at::ones_like(r1));
  set_scaled(graph, w1, scale_outputs(*pair.first, w1.tensor().detach().to(at::kDouble), c.reciprocal()));
  if (Value* b1 = pair.first->input(2))
    set_scaled(graph, *b1, b1->tensor().detach().to(at::kDouble) / c.reshape(b1->tensor().sizes()));
  set_scaled(graph, w2, scale_inputs(*pair.second, w2.tensor().detach().to(at::kDouble), c));
  pair.factors = pair.factors * c;
  return c.log().abs().max().item<double>();
}

void balance_gated(Graph& graph, std::vector<Pair>& pairs, const EqualizeOptions& options) {
  std::map<std::string, int> axes;
  for (const Pair& pair : pairs)
    if (pair.gated) axes[pair.second->input(0)->name()] = is_linear(*pair.second) ? -1 : 1;
  if (axes.empty()) return;
  const std::map<std::string, at::Tensor> seen = channel_ranges(graph, axes, *options.data, options.batch);
  for (Pair& pair : pairs)
    if (pair.gated) balance(graph, pair, seen.at(pair.second->input(0)->name()));
}

double spread_of(const Pair& pair) {
  return std::sqrt(spread(ranges(by_output(*pair.first, pair.first->input(1)->tensor().detach()))) *
                   spread(ranges(by_input(*pair.second, pair.second->input(1)->tensor().detach()))));
}

}  // namespace

EqualizeRecord equalize(Graph& graph, const EqualizeOptions& options) {
  const c10::AutoGradMode no_grad(false);
  EqualizeRecord record;
  std::vector<Pair> pairs = find_pairs(graph, options.data != nullptr, record);
  std::vector<double> before;
  for (const Pair& pair : pairs) before.push_back(spread_of(pair));
  for (double moved = INFINITY; record.rounds < options.rounds && moved > options.tolerance && !pairs.empty();
       ++record.rounds) {
    moved = 0;
    for (Pair& pair : pairs)
      if (!pair.gated)
        moved = std::max(moved,
                         balance(graph, pair, ranges(by_output(*pair.first, pair.first->input(1)->tensor().detach()))));
  }
  balance_gated(graph, pairs, options);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double largest = std::exp(pairs[i].factors.log().abs().max().item<double>());
    record.pairs.push_back({pairs[i].first->name(), pairs[i].second->name(), largest, before[i], spread_of(pairs[i])});
  }
  graph.verify();
  return record;
}

}  // namespace quench
