#include "quench/prepare.h"

namespace quench {
namespace {

void only(Graph& graph, Role role, QuantFlags flags) {
  disable_all(graph);
  set_state(graph, role, flags);
}

}  // namespace

int set_state(Graph& graph, std::optional<Role> role, QuantFlags flags) {
  int count = 0;
  for (const auto& node : graph.nodes()) {
    if (node->op() == "quench.QuantizeBias" && (!role || *role == Role::kWeight || *role == Role::kBias))
      node->attrs["quantize"] = std::int64_t{flags.quantize};
    if (node->op() != "quench.FakeQuant") continue;
    if (role && fake_quant_spec(*node).role != *role) continue;
    set_fake_quant_flags(*node, flags);
    ++count;
  }
  return count;
}

void enable_calibration(Graph& graph) { set_state(graph, std::nullopt, {.observe = true}); }

void enable_quantization(Graph& graph, bool weight_cali_on, bool act_cali_on) {
  set_state(graph, std::nullopt, {.quantize = true});
  if (weight_cali_on) set_state(graph, Role::kWeight, {.observe = true, .quantize = true});
  if (act_cali_on) set_state(graph, Role::kActivation, {.observe = true, .quantize = true});
}

void enable_calibration_woquantization(Graph& graph, Role role) { only(graph, role, {.observe = true}); }
void enable_calibration_quantization(Graph& graph, Role role) {
  only(graph, role, {.observe = true, .quantize = true});
}
void disable_all(Graph& graph) { set_state(graph, std::nullopt, {}); }
void enable_all(Graph& graph) { set_state(graph, std::nullopt, {.observe = true, .quantize = true}); }

}  // namespace quench
