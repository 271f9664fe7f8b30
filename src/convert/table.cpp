#include "convert/table.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "convert/coded.h"
#include "core/joined.h"
#include "ops/clamp.h"
#include "ops/integer_form.h"
#include "quant/integer_ops.h"
#include "quench/executor.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

// Each element of the result depends on that element of the data alone.
bool is_elementwise(const Node& node) {
  static const std::set<std::string> ops = {"Abs",       "Acos",      "Acosh",       "Add",
                                            "Asin",      "Asinh",     "Atan",        "Atanh",
                                            "Ceil",      "Celu",      "Clip",        "Cos",
                                            "Cosh",      "Div",       "Elu",         "Erf",
                                            "Exp",       "Floor",     "Gelu",        "Relu",
                                            "HardSwish", "Log",       "HardSigmoid", "Max",
                                            "Identity",  "LeakyRelu", "Min",         "Mish",
                                            "Mul",       "Neg",       "Pow",         "Reciprocal",
                                            "Round",     "Selu",      "Shrink",      "Sigmoid",
                                            "Sign",      "Sin",       "Sinh",        "Sqrt",
                                            "Softplus",  "Softsign",  "Sub",         "ThresholdedRelu",
                                            "Swish",     "Sum",       "Tan",         "Tanh"};
  return ops.contains(node.op()) && node.outputs().size() == 1;
}

// What lies between one tensor of codes and a quantizer.
struct Region {
  std::vector<const Node*> nodes;  // in order
  const Value* from = nullptr;     // dequantized
};

class FindRegion {
 public:
  bool reach(const Value* value) {
    if (!value) return true;
    if (value->is_constant()) return value->tensor().numel() == 1;
    if (dequantized(value)) {
      if (region.from && region.from != value) return false;
      region.from = value;
      return true;
    }
    const Node* node = value->producer();
    if (!node || !is_elementwise(*node)) return false;
    if (std::find(region.nodes.begin(), region.nodes.end(), node) != region.nodes.end()) return true;
    for (const Value* input : node->inputs())
      if (!reach(input)) return false;
    region.nodes.push_back(node);
    return true;
  }
  Region region;
};

// The region as a graph of its own, whatever the shapes were.
Graph graph_of(const Region& region, const Value& result) {
  Graph graph;
  std::map<const Value*, Value*> copies = {{region.from, &graph.add_input("codes")}};
  for (const Node* node : region.nodes) {
    std::vector<Value*> inputs;
    for (const Value* input : node->inputs()) {
      if (input && !copies.contains(input))
        copies[input] = &graph.add_constant(graph.unique_name("number"), input->tensor(), input->dtype());
      inputs.push_back(input ? copies.at(input) : nullptr);
    }
    Node& copy = graph.add(node->op(), node->name(), inputs);
    copy.attrs = node->attrs;
    copies[&node->output()] = &copy.output();
  }
  graph.add_output(*copies.at(&result));
  return graph;
}

std::string function_of(const Region& region) {
  if (region.nodes.empty()) return "Requantize";
  return joined(region.nodes, "+", [](const Node* node) { return node->op(); });
}

at::Tensor entries(const Region& region, const Node& quantize, const QType& x, const Arithmetic& arithmetic) {
  const QType y = quantized_by(quantize).type;
  const at::Tensor codes = store_codes(at::arange(x.scheme.qmin(), x.scheme.qmax() + 1, at::kInt), x.scheme);
  if (region.nodes.empty()) return integer_requantize({codes, x}, {y, arithmetic, {}});
  const Graph graph = graph_of(region, *quantize.input(0));
  const at::Tensor value = Executor(graph).run({RtValue(dequantize_reference(codes, x))}).at(0).tensor();
  return quantize_reference(value, y, quantize_by_from_name(quantize.get_string("by", "division")));
}

// More codes than a table has: to another type alone, as the one operand of a Concat.
bool requantize_wide(Graph& graph, Node& quantize, const Coded& x, const Arithmetic& arithmetic) {
  const Coded y = quantized_by(quantize);
  graph.set_op(quantize, "quench.QConcat");
  graph.set_inputs(quantize, {x.codes, x.scale, x.zero_point, y.scale, y.zero_point});
  quantize.attrs = {{"schemes", std::vector<std::string>{x.type.scheme.text(), y.type.scheme.text()}},
                    {"requantize", std::string(name_of(arithmetic.rule))},
                    {"axis", std::int64_t{0}}};
  if (arithmetic.rule == Requantize::kHalfUp)
    quantize.attrs["multiplier_bits"] = std::int64_t{arithmetic.multiplier_bits};
  return true;
}

}  // namespace

bool use_table(Graph& graph, Node& quantize, const Arithmetic& arithmetic) {
  const Coded y = quantized_by(quantize);
  FindRegion found;
  if (!y.type.scheme.is_int() || !y.type.scheme.per_tensor() || !found.reach(quantize.input(0))) return false;
  const Region& region = found.region;
  const std::optional<Coded> x = dequantized(region.from);
  if (!x || x->codes->is_constant() || !x->type.scheme.is_int() || !x->type.scheme.per_tensor()) return false;
  if (x->type.scheme.bits() > 8) return region.nodes.empty() && requantize_wide(graph, quantize, *x, arithmetic);
  const at::Tensor table = entries(region, quantize, x->type, arithmetic);
  const std::string function = function_of(region);
  Value& constant = graph.add_constant(graph.unique_name(quantize.name() + ".table"), table);
  graph.set_op(quantize, "quench.QTable");
  graph.set_inputs(quantize, {x->codes, &constant, x->scale, x->zero_point, y.scale, y.zero_point});
  quantize.attrs = {{"schemes", std::vector<std::string>{x->type.scheme.text(), y.type.scheme.text()}},
                    {"function", function}};
  return true;
}

}  // namespace quench
