#include "platforms/plan/one_input_region.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "quench/error.h"
#include "quench/executor.h"

namespace quench {
namespace {

constexpr std::size_t kMostNodes = 14;  // a LayerNorm with Casts has twelve
// Between the two usual formulas of GELU lie 5e-4; SiLU and others are a hundred times farther away.
constexpr double kTolerance = 2e-3;

bool is_simple(const std::string& op) {
  static const std::set<std::string> ops = {"Add",        "Sub",      "Mul",  "Div",      "Neg",        "Pow",
                                            "Sqrt",       "Erf",      "Tanh", "Sigmoid",  "Exp",        "Cast",
                                            "Reciprocal", "Identity", "Abs",  "Softplus", "ReduceMean", "ReduceSum"};
  return ops.contains(op);
}

bool has(const OneInputRegion& region, const std::set<std::string>& ops) {
  return std::any_of(region.nodes.begin(), region.nodes.end(),
                     [&](const Node* node) { return ops.contains(node->op()); });
}

// One number, or numbers that say how (axes): they fit whatever shape x has.
bool fits_any_shape(const Value& constant) { return constant.tensor().numel() == 1 || !is_floating(constant.dtype()); }

// The region as a graph of its own, from an input "x" of this shape.
Graph copy_of(const OneInputRegion& region, const at::Tensor& x) {
  Graph graph;
  std::map<const Value*, Value*> copies;
  Dims dims;
  for (const std::int64_t size : x.sizes()) dims.emplace_back(size);
  copies[region.x] = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, dims));
  for (auto at = region.nodes.rbegin(); at != region.nodes.rend(); ++at) {
    const Node& node = **at;
    std::vector<Value*> inputs;
    for (const Value* input : node.inputs()) {
      if (input && !copies.contains(input))
        copies[input] = &graph.add_constant(graph.unique_name(input->name()), input->tensor(), input->dtype());
      inputs.push_back(input ? copies.at(input) : nullptr);
    }
    Node& copy = graph.add(node.op(), graph.unique_name(node.name()), inputs);
    copy.attrs = node.attrs;
    copies[&node.output()] = &copy.output();
  }
  graph.add_output(*copies.at(&region.nodes.front()->output()));
  return graph;
}

// Nothing where the region does not run on such an x: then it is none of the functions that are looked for.
std::optional<at::Tensor> computed(const OneInputRegion& region, const at::Tensor& x) {
  try {
    const Graph graph = copy_of(region, x);
    return Executor(graph).run({RtValue(x)})[0].tensor();
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool are_close(const at::Tensor& found, const at::Tensor& wanted) {
  return found.sizes() == wanted.sizes() && found.scalar_type() == wanted.scalar_type() &&
         (found - wanted).abs().max().item<double>() < kTolerance;
}

std::string activation_of(const OneInputRegion& region) {
  const at::Tensor x = at::linspace(-4, 4, 33);
  const std::optional<at::Tensor> y = computed(region, x);
  if (!y) return "";
  if (are_close(*y, at::gelu(x)) || are_close(*y, x * at::sigmoid(1.702 * x))) return "a GELU";
  return are_close(*y, at::silu(x)) ? "a SiLU" : "";
}

// Over one axis, whichever; of numbers so large that the usual epsilons do not show.
std::string norm_of(const OneInputRegion& region) {
  if (!region.x->has_rank() || region.x->rank() == 0) return "";
  std::vector<std::int64_t> sizes;
  for (int axis = 0; axis < region.x->rank(); ++axis) sizes.push_back(axis + 3);  // all different
  const std::int64_t count = c10::multiply_integers(sizes);
  const at::Tensor x = ((at::arange(count, at::kFloat) * 0.7).sin() * 40 + 10).reshape(sizes);
  const std::optional<at::Tensor> y = computed(region, x);
  if (!y) return "";
  for (int axis = 0; axis < region.x->rank(); ++axis) {
    const at::Tensor centred = x - x.mean(axis, true);
    if (are_close(*y, centred / centred.square().mean(axis, true).sqrt())) return "a LayerNorm";
    if (are_close(*y, x / x.square().mean(axis, true).sqrt())) return "an RMSNorm";
  }
  return "";
}

}  // namespace

std::vector<OneInputRegion> regions_before(const Node& end, const std::map<const Node*, std::size_t>& order) {
  std::vector<OneInputRegion> found;
  std::vector<const Node*> nodes;
  std::set<std::pair<std::size_t, const Value*>> open;  // what they read, with the place of its producer
  const auto take = [&](const Node& node) {
    nodes.push_back(&node);
    for (const Value* input : node.inputs())
      if (input && !input->is_constant()) open.emplace(input->producer() ? order.at(input->producer()) : 0, input);
  };
  const auto is_closed = [](const Node& node) { return !is_simple(node.op()) || node.outputs().size() != 1; };
  if (is_closed(end)) return found;
  take(end);
  // Always the last of them first, so that where one is left, all nodes depend on it alone.
  while (!open.empty() && nodes.size() < kMostNodes) {
    const auto last = std::prev(open.end());
    const Value& value = *last->second;
    if (open.size() == 1) found.push_back({&value, nodes});
    if (!value.producer() || is_closed(*value.producer())) break;
    open.erase(last);
    take(*value.producer());
  }
  return found;
}

std::string function_of(const OneInputRegion& region) {
  const c10::AutoGradMode no_grad(false);
  for (const Node* node : region.nodes)
    for (const Value* input : node->inputs())
      if (input && input->is_constant() && !fits_any_shape(*input)) return "";
  if (has(region, {"ReduceMean", "ReduceSum"})) return norm_of(region);
  return has(region, {"Erf", "Tanh", "Sigmoid", "Exp"}) ? activation_of(region) : "";
}

}  // namespace quench
