// skip_input_gradients: where LSQ learns the scale of a model input, the layer behind it gives that gradient without
// computing the input's own (quantized/conv_of_input.cpp): for running training.
//   before: x -> FakeQuant -> Conv -> users      after: x -> FakeQuant -> quench.ConvOfInput -> users
#include "graph/border.h"
#include "passes/rewrite.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

bool learns_one_scale(const Node& quantizer) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  return spec.algorithm == "lsq" && spec.scheme.per_tensor();
}

bool matches(const Node& conv) {
  if (conv.op() != "Conv") return false;
  const Node* quantizer = quantizer_in_front(conv, 0);
  return quantizer && quantizer->get_int("after_relu", 0) == 0 && is_model_input(*quantizer->input(0)) &&
         only_user(quantizer->output()) == &conv && learns_one_scale(*quantizer);
}

void change(Graph& graph, Node& conv) {
  const Node& quantizer = *quantizer_in_front(conv, 0);
  graph.set_inputs(
      conv, {conv.input(0), conv.input(1), conv.input(2), quantizer.input(0), quantizer.input(1), quantizer.input(2)});
  graph.set_op(conv, "quench.ConvOfInput");
}

int skip_input_gradients(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (matches(*node)) found.push_back(node.get());
  for (Node* conv : found) change(graph, *conv);
  return static_cast<int>(found.size());
}

}  // namespace

QUENCH_REGISTER_PASS("skip_input_gradients", skip_input_gradients,
                     "LSQ's scale of a model input learns without the input's gradient: for running training")

}  // namespace quench
