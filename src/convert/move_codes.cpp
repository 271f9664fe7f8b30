#include "convert/move_codes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "convert/coded.h"
#include "graph/edit.h"
#include "graph/tensor_types.h"
#include "ops/clamp.h"
#include "ops/integer_form.h"
#include "passes/rewrite.h"
#include "quench/op.h"

namespace quench {
namespace {

// Of what moves codes, what operators of ours take in every integer type, and what writes no zeros but those of Pad.
bool is_mover(const Node& node) {
  static const std::set<std::string> ops = {
      "MaxPool", "Flatten", "Reshape", "Transpose", "Squeeze", "Identity",     "Unsqueeze",    "Slice",
      "Gather",  "Split",   "Expand",  "Tile",      "Pad",     "DepthToSpace", "SpaceToDepth", "Resize"};
  if (!ops.contains(node.op()) || !moves_codes(node)) return false;
  if (node.op() == "MaxPool") return node.outputs().size() == 1;
  return node.op() != "Resize" ||
         node.get_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
}

bool is_concat(const Node& node) { return node.op() == "Concat"; }

std::optional<Coded> integers_behind(const Value* value) {
  std::optional<Coded> coded = dequantized(value);
  return coded && coded->type.scheme.is_int() && coded->type.scheme.per_tensor() ? coded : std::nullopt;
}

// The type of what it reads, where all of that is in codes of one type.
std::optional<Coded> common_codes(const Node& node) {
  const std::optional<Coded> first = integers_behind(node.input(0));
  if (!first || first->codes->is_constant() || !is_concat(node))
    return first && !first->codes->is_constant() ? first : std::nullopt;
  for (const Value* input : node.inputs()) {
    const std::optional<Coded> one = integers_behind(input);
    if (!one || !(one->type == first->type)) return {};
  }
  return first;
}

bool is_quantize(const Node* node) { return node && node->op() == "quench.Quantize"; }

bool is_wanted(const Node& node, const Coded& coded, Requantize rule) {
  if (!is_mlas(rule)) return true;
  if (node.outputs().size() != 1) return false;
  const Node* next = only_user(node.output());
  return is_quantize(next) && quantized_by(*next).type == coded.type;
}

Value& code_constant(Graph& graph, const Node& node, const char* suffix, int code, DType dtype) {
  return add_scalar(graph, node, suffix, code, dtype);
}

void clamp_codes(Graph& graph, Node& node, const Coded& coded) {
  const Clamp clamp = clamp_of(node);
  const OutputCodes bounds =
      output_codes(coded.type, {}, {static_cast<float>(clamp.low), static_cast<float>(clamp.high)});
  const DType dtype = code_dtype(coded.type.scheme);
  graph.set_op(node, "Clip");
  graph.set_inputs(node, {coded.codes, &code_constant(graph, node, "_min", bounds.low, dtype),
                          &code_constant(graph, node, "_max", bounds.high, dtype)});
}

// Zeros are the code of zero.
void pad_codes(Graph& graph, Node& node, const Coded& coded) {
  graph.set_input(node, 0, coded.codes);
  if (node.get_string("mode", "constant") != "constant") return;
  set_optional_input(
      graph, node, 2,
      &code_constant(graph, node, "_value", coded.type.params.zero_point[0], code_dtype(coded.type.scheme)));
}

void take_codes(Graph& graph, Node& node, const Coded& coded) {
  if (is_clamp(node)) return clamp_codes(graph, node, coded);
  if (node.op() == "Pad") return pad_codes(graph, node, coded);
  const int operands = is_concat(node) ? static_cast<int>(node.inputs().size()) : 1;
  for (int slot = 0; slot < operands; ++slot) graph.set_input(node, slot, dequantized(node.input(slot))->codes);
}

bool move(Graph& graph, Node& node, Requantize rule) {
  const bool clamps = is_clamp(node) && clamp_of(node).known;
  if (!clamps && !is_mover(node) && !is_concat(node)) return false;
  const std::optional<Coded> coded = common_codes(node);
  if (!coded || !is_wanted(node, *coded, rule)) return false;
  take_codes(graph, node, *coded);
  for (Value* output : node.outputs()) {
    if (!output) continue;
    TypeInfo type = output->type();
    const std::string name = output->name();
    Coded moved = *coded;
    moved.codes = output;
    graph.rename(*output, graph.unique_name(name + ".codes"));
    Node& back = add_dequantize(graph, node, name, moved);
    back.output().set_type(type);
    graph.replace_uses(*output, back.output());
    type.dtype = code_dtype(coded->type.scheme);
    output->set_type(type);
  }
  return true;
}

// A Quantize of what was dequantized from codes of its own type.
void cancel(Graph& graph, Node& quantize) {
  const std::optional<Coded> from = dequantized(quantize.input(0));
  if (!from || !(from->type == quantized_by(quantize).type)) return;
  const std::string name = quantize.output().name();
  const Node* maker = from->codes->producer();
  const bool is_named = !maker || maker->op().starts_with("quench.") || from->codes->is_graph_output() ||
                        !from->codes->name().ends_with(".codes");
  if (is_named) {  // two names for one tensor
    graph.set_op(quantize, "Identity");
    graph.set_inputs(quantize, {from->codes});
    quantize.attrs.clear();
    return;
  }
  graph.replace_uses(quantize.output(), *from->codes);
  graph.erase(quantize);
  graph.rename(*from->codes, name);
}

// The mover takes the name of the codes, so that whoever knows them by it finds them in their old shape.
bool raise(Graph& graph, Node& quantize) {
  Node* mover = quantize.input(0)->producer();
  if (!mover || !lets_quantizers_up(*mover) || only_user(mover->output()) != &quantize) return false;
  Value& x = *mover->input(0);
  const QScheme scheme = quantized_by(quantize).type.scheme;
  if (dequantized(&x) || x.is_constant() || !scheme.is_int() || !scheme.per_tensor()) return false;
  Value &raised = quantize.output(), &moved = mover->output();
  const std::string name = raised.name();
  graph.rename(raised, graph.unique_name(x.name() + ".codes"));
  graph.rename(moved, name);
  graph.replace_uses(raised, moved);
  graph.set_input(quantize, 0, &x);
  graph.set_input(*mover, 0, &raised);
  TypeInfo type = x.type();
  type.dtype = code_dtype(scheme);
  raised.set_type(type);
  type = moved.type();
  type.dtype = code_dtype(scheme);
  moved.set_type(type);
  return true;
}

}  // namespace

bool lets_quantizers_up(const Node& node) {
  static const std::set<std::string> ops = {"MaxPool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice"};
  return ops.contains(node.op()) && is_mover(node);
}

int raise_quantizers(Graph& graph) {
  std::vector<Node*> quantizers;
  for (const auto& node : graph.nodes())
    if (is_quantize(node.get())) quantizers.push_back(node.get());
  int raised = 0;
  for (Node* node : quantizers)
    while (raise(graph, *node)) ++raised;
  graph.sort();
  return raised;
}

int move_codes(Graph& graph, Requantize rule) {
  std::vector<Node*> nodes, quantizers;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  int moved = 0;
  for (Node* node : nodes) moved += move(graph, *node, rule) ? 1 : 0;
  for (const auto& node : graph.nodes())
    if (is_quantize(node.get())) quantizers.push_back(node.get());
  for (Node* node : quantizers) cancel(graph, *node);
  return moved;
}

}  // namespace quench
