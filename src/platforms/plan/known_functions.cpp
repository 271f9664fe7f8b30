#include "platforms/plan/known_functions.h"

#include <algorithm>
#include <set>

#include "platforms/plan/one_input_region.h"

namespace quench {
namespace {

using Nodes = std::vector<const Node*>;

bool is_one_of(const Node* node, const std::set<std::string>& ops) { return node && ops.contains(node->op()); }

// The node that makes it, if it is of that operator.
const Node* maker(const Value* value, const std::set<std::string>& ops) {
  const Node* node = value ? value->producer() : nullptr;
  return is_one_of(node, ops) ? node : nullptr;
}

const Node* only_reader(const Node& node) {
  const Value& y = node.output();
  return y.uses().size() == 1 && !y.is_graph_output() ? y.uses()[0].node : nullptr;
}

std::string single_operator(const std::string& op) {
  static const std::map<std::string, std::string> names = {{"Gelu", "a GELU"},
                                                           {"Swish", "a SiLU"},
                                                           {"Attention", "an attention"},
                                                           {"LayerNormalization", "a LayerNorm"},
                                                           {"RMSNormalization", "an RMSNorm"},
                                                           {"RotaryEmbedding", "a rotary embedding"}};
  const auto at = names.find(op);
  return at == names.end() ? "" : at->second;
}

bool has_constant(const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Value* v) { return v && v->is_constant(); });
}

// The scale and the offset behind a norm.
Nodes with_affine(Nodes nodes) {
  for (const char* op : {"Mul", "Add"}) {
    const Node* next = only_reader(*nodes.front());
    if (!is_one_of(next, {op}) || !has_constant(*next)) continue;
    nodes.insert(nodes.begin(), next);
  }
  return nodes;
}

// A product of two tensors that depend on the data.
bool is_product(const Node* node) {
  return is_one_of(node, {"MatMul", "Einsum"}) && node->inputs().size() == 2 && !has_constant(*node);
}

// From the product of queries and keys to what the Softmax reads, through scaling and masking; empty if there is none.
Nodes scores_before(const Value* value, int steps) {
  const Node* node = value ? value->producer() : nullptr;
  if (is_product(node)) return {node};
  if (steps == 0 || !is_one_of(node, {"Add", "Sub", "Mul", "Div", "Where", "Cast", "Reshape", "Identity"})) return {};
  for (const Value* input : node->inputs())
    if (Nodes nodes = scores_before(input, steps - 1); !nodes.empty()) {
      nodes.push_back(node);
      return nodes;
    }
  return {};
}

// softmax(Q K^T) V, from the first product to the second.
Nodes attention_around(const Node& softmax) {
  Nodes nodes = scores_before(softmax.input(0), 6);
  if (nodes.empty()) return {};
  nodes.push_back(&softmax);
  const Node* next = only_reader(softmax);
  while (is_one_of(next, {"Dropout", "Identity", "Cast", "Reshape"})) {
    nodes.push_back(next);
    next = only_reader(*next);
  }
  if (!is_product(next)) return {};
  nodes.push_back(next);
  return nodes;
}

// A half of x, or every other element of it.
const Node* part_of(const Value* value, const Value* x) {
  const Node* node = maker(value, {"Slice", "Split", "Gather", "Squeeze"});
  return node && node->input(0) == x ? node : nullptr;
}

// x cos + concat(-x2, x1) sin: `turned` makes the second product, `plain` the first.
Nodes rotation_by_halves(const Node& sum, const Node& plain, const Node& turned) {
  for (const Value* x : plain.inputs())
    for (const Value* rotated : turned.inputs()) {
      const Node* concat = maker(rotated, {"Concat"});
      if (!concat || concat->inputs().size() != 2) continue;
      const Node* negated = maker(concat->input(0), {"Neg"});
      const Node* second = negated ? part_of(negated->input(0), x) : nullptr;
      const Node* first = part_of(concat->input(1), x);
      if (first && second) return {&sum, &plain, &turned, concat, negated, first, second};
    }
  return {};
}

// Real and imaginary parts apart: concat(a cos - b sin, a sin + b cos), whatever puts them side by side.
Nodes rotation_by_parts(const Node& concat) {
  if (concat.inputs().size() != 2) return {};
  Nodes nodes = {&concat};
  std::vector<std::set<const Value*>> read;
  for (std::size_t i = 0; i < 2; ++i) {
    const Value* value = concat.input(static_cast<int>(i));
    while (const Node* moved = maker(value, {"Unsqueeze", "Reshape", "Cast"})) {
      nodes.push_back(moved);
      value = moved->input(0);
    }
    const Node* sum = maker(value, {i == 0 ? "Sub" : "Add"});
    if (!sum) return {};
    nodes.push_back(sum);
    read.emplace_back();
    for (const Value* product : sum->inputs()) {
      const Node* mul = maker(product, {"Mul"});
      if (!mul) return {};
      nodes.push_back(mul);
      read.back().insert(mul->inputs().begin(), mul->inputs().end());
    }
  }
  return read[0].size() == 4 && read[0] == read[1] ? nodes : Nodes{};
}

Nodes rotation_at(const Node& node) {
  if (node.op() == "Concat") return rotation_by_parts(node);
  const Node* first = maker(node.input(0), {"Mul"});
  const Node* second = maker(node.input(1), {"Mul"});
  if (node.op() != "Add" || !first || !second) return {};
  const Nodes nodes = rotation_by_halves(node, *first, *second);
  return nodes.empty() ? rotation_by_halves(node, *second, *first) : nodes;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) {
    for (const auto& node : graph.nodes()) order_[node.get()] = order_.size() + 1;
    for (const auto& node : graph.nodes()) look_at(*node);
  }

  std::map<const Node*, std::string> found;

 private:
  void look_at(const Node& node) {
    if (const std::string name = single_operator(node.op()); !name.empty()) note({&node}, name);
    if (node.op() == "Softmax") note(attention_around(node), "an attention");
    if (node.op() == "Add" || node.op() == "Concat") note(rotation_at(node), "a rotary embedding");
    if (node.op() != "Mul" && node.op() != "Div") return;
    for (const OneInputRegion& region : regions_before(node, order_)) {
      const std::string name = function_of(region);
      if (name.empty()) continue;
      note(name.ends_with("Norm") ? with_affine(region.nodes) : region.nodes, name);
      return;
    }
  }

  void note(const Nodes& nodes, const std::string& name) {
    for (const Node* node : nodes) found.try_emplace(node, name);
  }

  std::map<const Node*, std::size_t> order_;
};

}  // namespace

std::map<const Node*, std::string> known_functions(const Graph& graph) { return Finder(graph).found; }

}  // namespace quench
