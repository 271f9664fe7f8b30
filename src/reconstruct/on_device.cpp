#include "reconstruct/on_device.h"

#include <ATen/ATen.h>

#include "quench/op.h"

namespace quench {

void move_weights(Graph& graph, const std::string& device) {
  const at::Device wanted(device);
  for (const auto& node : graph.nodes()) {
    Value* weight = entry_of(*node).traits.state_from > 0 ? node->input(0) : nullptr;
    if (!weight || !weight->is_constant() || weight->tensor().device() == wanted) continue;
    graph.set_tensor(*weight, weight->tensor().detach().to(wanted), weight->dtype());
  }
}

void bring_home(Graph& graph) {
  for (Value* constant : graph.constants())
    if (!constant->tensor().is_cpu()) graph.set_tensor(*constant, constant->tensor().detach().cpu(), constant->dtype());
}

}  // namespace quench
