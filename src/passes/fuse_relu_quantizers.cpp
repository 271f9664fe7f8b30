// fuse_relu_quantizers: a Relu that only a quantizer reads becomes part of it, so that on a GPU both are one loop in
// each direction: for running training.
//   before: x -> Relu -> FakeQuant -> users      after: x -> FakeQuant(after_relu) -> users
#include "passes/rewrite.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

bool takes_relu(const Node& quantizer) {
  const std::string algorithm = fake_quant_spec(quantizer).algorithm;
  return FakeQuantRegistry::instance().find(algorithm) && fake_quant_of(quantizer)->takes_relu();
}

bool matches(const Node& node) {
  if (!is_quantizer(&node)) return false;
  const Node* relu = node.input(0)->producer();
  return relu && relu->op() == "Relu" && only_user(relu->output()) == &node && takes_relu(node);
}

void fuse(Graph& graph, Node& quantizer) {
  Node& relu = *quantizer.input(0)->producer();
  std::vector<Value*> inputs = quantizer.inputs();
  inputs[0] = relu.input(0);
  graph.set_inputs(quantizer, inputs);
  quantizer.attrs["after_relu"] = std::int64_t{1};
  graph.erase(relu);
}

int fuse_relu_quantizers(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (matches(*node)) found.push_back(node.get());
  for (Node* quantizer : found) fuse(graph, *quantizer);
  return static_cast<int>(found.size());
}

}  // namespace

QUENCH_REGISTER_PASS("fuse_relu_quantizers", fuse_relu_quantizers,
                     "a Relu and the quantizer behind it in one operator: for running training")

}  // namespace quench
