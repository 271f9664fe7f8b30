// spread_gemm_bias: a constant bias of a Gemm that ONNX would stretch over the channels becomes one number per channel.
//   before: Gemm(x, w, b [] or [1] or [1, 1] or [1, N])     after: Gemm(x, w, b [N])
// Code that quantizes or corrects a bias expects a vector. For post-training work: what trains keeps its owner's shape,
// so the pass is not part of preparing for training.
#include <ATen/ATen.h>

#include "passes/rewrite.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {
namespace {

// How many numbers the bias must have; 0 if it is not ours to change.
std::int64_t channels_of(const Node& gemm) {
  const Value *weight = gemm.input(1), *bias = gemm.input(2);
  if (gemm.op() != "Gemm" || !bias || !bias->is_constant() || !weight || !weight->has_rank()) return 0;
  const Dim& channels = weight->dims().at(static_cast<std::size_t>(entry_of(gemm).traits.weight_axis(gemm)));
  const bool is_row = bias->rank() < 2 || bias->dims()[0] == Dim(1);
  return is_row && channels.is_number() ? channels.number() : 0;
}

int spread_gemm_bias(Graph& graph) {
  int changes = 0;
  for (const auto& node : graph.nodes()) {
    const std::int64_t channels = channels_of(*node);
    if (channels == 0) continue;
    const Value& bias = *node->input(2);
    if (bias.rank() == 1 && bias.dims()[0] == Dim(channels)) continue;
    const bool parameter = bias.is_parameter();
    const at::Tensor row = bias.tensor().detach().reshape({-1}).expand({channels}).contiguous();
    replace_constant(graph, *node, 2, row, bias.name()).set_parameter(parameter);
    ++changes;
  }
  return changes;
}

}  // namespace

QUENCH_REGISTER_PASS("spread_gemm_bias", spread_gemm_bias, "a bias of a Gemm becomes one number per channel")

}  // namespace quench
