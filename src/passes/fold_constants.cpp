// fold_constants: computes what depends only on constants, and what shape inference knows exactly.
//   before: const -> Transpose -> users     after: const' -> users
// Leaves parameters alone (training changes them) and quantizers (they say how a weight is stored).
// fold_weights does the same to those two: for running, not for training or quantizing.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "graph/border.h"
#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {
namespace {

// A fold that makes something much larger than what it reads costs more memory than it saves time.
constexpr std::int64_t kMaxGrowthBytes = std::int64_t{1} << 20;

class FoldContext : public ExecContext {
 public:
  const c10::Device& device() const override { return device_; }
  at::Generator& generator() override { fail("a random operator is not folded"); }
  std::vector<RtValue> run_body(const Graph& body, const std::vector<RtValue>& inputs) override {
    return Executor(body).run(inputs);
  }

 private:
  c10::Device device_{c10::kCPU};
};

bool has_bodies(const Node& node) {
  return std::any_of(node.attrs.begin(), node.attrs.end(), [](const auto& attr) {
    return std::holds_alternative<GraphPtr>(attr.second) || std::holds_alternative<std::vector<GraphPtr>>(attr.second);
  });
}

bool is_foldable(const Node& node, bool weights_too) {
  const OpTraits& traits = entry_of(node).traits;
  // A quantizer that observes is not a function of its inputs.
  if (traits.quantizes && node.get_int("observe", 0) != 0) return false;
  if (traits.random || has_bodies(node) || node.inputs().empty() || (traits.quantizes && !weights_too)) return false;
  return std::all_of(node.inputs().begin(), node.inputs().end(), [&](const Value* input) {
    return !input || (input->is_constant() && (weights_too || !input->is_parameter()));
  });
}

// Elements that inference knows, all numbers, such as Shape of a value with fixed dims.
std::optional<at::Tensor> known_tensor(const Value& value) {
  if (!value.contents || !value.has_rank() || value.rank() > 1 || !is_integer(value.dtype())) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Dim& dim : *value.contents) {
    if (!dim.is_number()) return std::nullopt;
    numbers.push_back(dim.number());
  }
  const at::Tensor tensor = integer_tensor(numbers).to(scalar_type_of(value.dtype()));
  return value.rank() == 0 ? tensor.reshape({}) : tensor;
}

void replace_output(Graph& graph, Value& output, const at::Tensor& tensor, DType dtype) {
  const std::string name = output.name();
  graph.rename(output, graph.unique_name(name + ".folded"));
  Value& constant = graph.add_constant(name, tensor, dtype);
  graph.replace_uses(output, constant);
}

// A weight that is stored in 16 bits and computed with in 32: widened once, not in every run.
bool widens_weight(const Node& node) {
  return node.op() == "Cast" && is_narrow_float(node.input(0)->dtype()) && node.output().dtype() == DType::kFloat;
}

// By the inferred dims, before anything is allocated.
bool would_grow(const Node& node, std::size_t input_bytes) {
  return std::any_of(node.outputs().begin(), node.outputs().end(), [&](const Value* output) {
    if (!output || !output->has_rank()) return false;
    const Dim elements = product(output->dims(), 0, output->dims().size());
    return !elements.is_number() || elements.number() > static_cast<std::int64_t>(input_bytes) + kMaxGrowthBytes;
  });
}

bool evaluate_and_replace(Graph& graph, Node& node) {
  FoldContext context;
  Inputs inputs;
  std::size_t bytes = 0;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input ? RtValue(input->tensor(), input->dtype()) : RtValue());
    if (input) bytes += input->tensor().nbytes();
  }
  const bool may_grow = widens_weight(node);
  if (!may_grow && would_grow(node, bytes)) return false;
  const c10::AutoGradMode no_grad(false);
  const std::vector<RtValue> results = with_context([&] { return concat("while folding ", node.where()); },
                                                    [&] { return entry_of(node).evaluate(node, inputs, context); });
  QUENCH_CHECK(results.size() >= node.outputs().size(), node.where(), " has ", node.outputs().size(),
               " outputs; its operator gives ", results.size());
  for (const RtValue& result : results)
    if (!result.is_tensor() || (!may_grow && result.tensor().nbytes() > bytes + kMaxGrowthBytes)) return false;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    if (Value* output = node.outputs()[i])
      replace_output(graph, *output, results[i].tensor().contiguous(), results[i].dtype());
  return true;
}

int fold(Graph& graph, bool weights_too) {
  int changes = 0;
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes) {
    bool folded = is_foldable(*node, weights_too) && evaluate_and_replace(graph, *node);
    if (!folded && node->outputs().size() == 1 && node->output().contents) {
      const std::optional<at::Tensor> known = known_tensor(node->output());
      if (known) replace_output(graph, node->output(), *known, node->output().dtype());
      folded = known.has_value();
    }
    if (!folded) continue;
    graph.erase(*node);
    ++changes;
  }
  return changes;
}

int fold_constants(Graph& graph) { return fold(graph, false); }
int fold_weights(Graph& graph) { return fold(graph, true); }

}  // namespace

QUENCH_REGISTER_PASS("fold_constants", fold_constants, "computes what depends only on constants; parameters stay")
QUENCH_REGISTER_PASS("fold_weights", fold_weights, "the same for parameters and weight quantizers: for running only")

}  // namespace quench
