// qdq_to_fake_quant: turns a quantized model, with QuantizeLinear and DequantizeLinear nodes, into a graph with
// quantizers: same scales, same zero points, same bits.
//   before: x -> QuantizeLinear -> DequantizeLinear -> users      after: x -> FakeQuant (fixed) -> users
//   before: x -> QuantizeLinear -> Clip -> DequantizeLinear       after: the same, with as few codes as the Clip leaves
//   before: codes -> DequantizeLinear -> conv (weight)            after: float weight -> FakeQuant -> conv
//   before: int32 codes -> DequantizeLinear -> conv (bias)        after: float bias [-> QuantizeBias] -> conv
// Weights lie on their grid, so that quantizing them again gives the codes of the file: n * s / s is off by less than
// n * 2^-23 of a step, and |n| < 2^16. A bias gets a QuantizeBias where its scale is the float32 product of the other
// two. What is quantized in another way (float8, scales that are computed, a quantized tensor that more than
// DequantizeLinear reads) stays as it is.
#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "ops/clamp.h"
#include "passes/quantized_type.h"
#include "passes/rewrite.h"
#include "quench/executor.h"
#include "quench/op.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

FakeQuantSpec spec_of(const QType& type, Role role) { return {"fixed", type.scheme, role, QuantizeBy::kDivision, {}}; }

// All readers of the codes, where each gives back float on the same grid.
std::vector<Node*> dequantizers_of(const Value& codes, const QType& type) {
  std::vector<Node*> readers;
  for (const Value::Use& use : codes.uses()) {
    if (use.node->op() != "DequantizeLinear" || use.slot != 0) return {};
    const std::optional<QType> other = type_of_codes(*use.node, codes.dtype());
    if (!other || !(*other == type)) return {};
    readers.push_back(use.node);
  }
  return codes.is_graph_output() ? std::vector<Node*>() : readers;
}

// A Clip of the codes, the only reader of the QuantizeLinear.
Node* clip_behind(const Node& quantize) {
  Node* clip = only_user(quantize.output());
  const bool known = clip && clip->input(0) == &quantize.output() && clip->input(1) && clip->input(2);
  return known && clamp_of(*clip).known ? clip : nullptr;
}

// Two QuantizeLinear of one value with the same numbers are one quantizer; with others each has its own.
Node& quantizer_for(Graph& graph, Node& quantize, const QType& type) {
  const Value& x = *quantize.input(0);
  Node* found = quantizer_of(graph, x.name());
  if (found && type == QType{fake_quant_spec(*found).scheme, qparams_of(*found)}) return *found;
  const Role role = is_made_of_constants(x) ? Role::kWeight : Role::kActivation;
  Node& node = insert_fake_quant_for(graph, quantize, spec_of(type, role), {.quantize = true});
  set_qparams(node, type.params);
  return node;
}

bool convert_pair(Graph& graph, Node& quantize) {
  if (quantize.input(0) == nullptr || quantize.input(0)->dtype() != DType::kFloat) return false;
  std::optional<QType> type = type_of_codes(quantize, quantize.output().dtype());
  if (!type) return false;
  Node* clip = clip_behind(quantize);
  const std::vector<Node*> readers = dequantizers_of(clip ? clip->output() : quantize.output(), *type);
  if (clip)
    type =
        with_codes(*type, clip->input(1)->tensor().item<std::int64_t>(), clip->input(2)->tensor().item<std::int64_t>());
  if (readers.empty() || !type) return false;
  Node& quantizer = quantizer_for(graph, quantize, *type);
  for (Node* reader : readers)
    if (!bypass(graph, *reader, quantizer.output())) {  // one of two outputs of the graph with the same elements
      graph.set_op(*reader, "Identity");
      graph.set_inputs(*reader, {&quantizer.output()});
    }
  if (clip) graph.erase(*clip);
  graph.erase(quantize);
  return true;
}

bool holds_codes(const Node& node) {
  return node.op() == "DequantizeLinear" && node.input(0) && node.input(0)->is_constant() && node.input(1) &&
         node.input(1)->is_constant() && !node.output().uses().empty() && !node.output().is_graph_output() &&
         node.output().dtype() == DType::kFloat;
}

bool is_bias(const Value& value) {
  return std::all_of(value.uses().begin(), value.uses().end(), [](const Value::Use& use) {
    return use.slot > 0 && use.slot == entry_of(*use.node).traits.bias_slot;
  });
}

// Replaces `node` by the float constant, under the name of its output.
Value& replace_by_constant(Graph& graph, Node& node, const at::Tensor& tensor) {
  const std::string name = node.output().name();
  Value& constant = graph.add_constant(graph.unique_name(name + ".float"), tensor);
  graph.replace_uses(node.output(), constant);
  graph.erase(node);
  graph.rename(constant, name);
  constant.set_parameter(true);  // a weight or bias like any other
  return constant;
}

void quantize_bias(Graph& graph, Value& bias, const at::Tensor& codes, const at::Tensor& scale) {
  // A float holds the code of a bias only up to a point: docs/numerics.md 11.
  if (codes.numel() == 0 || codes.abs().max().item<std::int64_t>() > (std::int64_t{1} << 23)) return;
  for (const Value::Use& use : std::vector<Value::Use>(bias.uses())) {
    const Node *x = quantizer_in_front(*use.node, 0),
               *w = quantizer_in_front(*use.node, entry_of(*use.node).traits.weight_slot);
    if (!x || !w) continue;
    const at::Tensor step = x->input(1)->tensor() * w->input(1)->tensor();
    if (step.dim() > 1 || step.numel() == 0 || codes.numel() % step.numel() != 0) continue;
    const at::Tensor steps = step.numel() == 1 ? step : step.repeat({codes.numel() / step.numel()});
    if (scale.numel() != 1 && scale.numel() != steps.numel() && steps.numel() != 1) continue;
    if (!(steps == scale.reshape({-1})).all().item<bool>()) continue;
    insert_bias_quantizer(graph, *use.node, use.slot, bias, *x, *w, true);
  }
}

// What became of codes that may have more readers: on the same grid they are one float weight, with one quantizer.
struct Converted {
  const Value* codes;
  QType type;
  Role role;
  Value* quantized;
};

void convert_weight(Graph& graph, Node& node, const QType& type, const at::Tensor& tensor,
                    std::vector<Converted>& done) {
  const Value* codes = node.input(0);
  const Role role = is_bias(node.output()) ? Role::kBias : Role::kWeight;
  const auto at = std::find_if(done.begin(), done.end(), [&](const Converted& other) {
    return other.codes == codes && other.role == role && other.type == type;
  });
  if (at != done.end()) {
    graph.replace_uses(node.output(), *at->quantized);
    graph.erase(node);
    return;
  }
  Value& weight = replace_by_constant(graph, node, tensor);
  Node& quantizer = insert_fake_quant(graph, weight, spec_of(type, role), {.quantize = true});
  set_qparams(quantizer, type.params);
  done.push_back({codes, type, role, &quantizer.output()});
}

// A weight that no grid of ours fits stays; int32 belongs to biases, and is plain float elsewhere.
bool convert_codes(Graph& graph, Node& node, const at::Tensor& tensor, std::vector<Converted>& done) {
  const DType dtype = node.input(0)->dtype();
  const at::Tensor codes = node.input(0)->tensor(), scale = node.input(1)->tensor();
  if (dtype == DType::kInt32) {
    const bool centred =
        !node.input(2) || (node.input(2)->is_constant() && !node.input(2)->tensor().any().item<bool>());
    Value& constant = replace_by_constant(graph, node, tensor);
    if (centred && is_bias(constant)) quantize_bias(graph, constant, codes, scale);
    return true;
  }
  const std::optional<QType> type = type_of_codes(node, dtype);
  if (!type) return false;
  convert_weight(graph, node, *type, tensor, done);
  return true;
}

int convert_all_codes(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (holds_codes(*node)) nodes.push_back(node.get());
  // Biases last: they look at the quantizers of their layers.
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
    return (a->input(0)->dtype() == DType::kInt32) < (b->input(0)->dtype() == DType::kInt32);
  });
  std::vector<std::string> names;
  for (const Node* node : nodes) names.push_back(node->output().name());
  if (names.empty()) return 0;
  const NamedValues values = Executor(graph).run({}, names);
  std::vector<Converted> done;
  int changes = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    changes += convert_codes(graph, *nodes[i], values.at(names[i]).tensor().contiguous(), done) ? 1 : 0;
  return changes;
}

int qdq_to_fake_quant(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (node->op() == "QuantizeLinear") nodes.push_back(node.get());
  int changes = 0;
  for (Node* node : nodes) changes += convert_pair(graph, *node) ? 1 : 0;
  changes += convert_all_codes(graph);
  graph.sort();
  run_passes(graph, {"eliminate_dead"});
  return changes;
}

}  // namespace

QUENCH_REGISTER_PASS("qdq_to_fake_quant", qdq_to_fake_quant,
                     "QuantizeLinear and DequantizeLinear become quantizers with the same numbers")

}  // namespace quench
