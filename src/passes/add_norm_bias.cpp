// add_norm_bias: a layer without a bias in front of a BatchNormalization gets one of zeros. Once that is folded there
// will be a bias, and a plan that quantizes biases must know it (docs/numerics.md 8.4).
//   before: conv(x, w) -> bn     after: conv(x, w, zeros) -> bn
#include <ATen/ATen.h>

#include "ops/norm_weight.h"
#include "passes/rewrite.h"
#include "quench/pass.h"

namespace quench {
namespace {

bool matches(const Node& bn) {
  const Node* layer = is_plain_norm(bn) && bn.input(0) ? bn.input(0)->producer() : nullptr;
  return layer && takes_norm(*layer) && only_user(layer->output()) && !layer->input(2);
}

int add_norm_bias(Graph& graph) {
  int changes = 0;
  for (const auto& bn : graph.nodes()) {
    if (!matches(*bn)) continue;
    Node& layer = *bn->input(0)->producer();
    const at::Tensor zeros = at::zeros_like(bn->input(2)->tensor().detach());
    graph.set_input(layer, 2, &graph.add_constant(graph.unique_name(layer.name() + ".bias"), zeros));
    ++changes;
  }
  return changes;
}

}  // namespace

QUENCH_REGISTER_PASS("add_norm_bias", add_norm_bias, "zeros as the bias of a layer in front of a BatchNormalization")

}  // namespace quench
