// The two flags of every quantizer.
#include "quench/quantizers.h"

namespace quench {

QuantFlags fake_quant_flags(const Node& quantizer) {
  return {quantizer.get_int("observe", 0) != 0, quantizer.get_int("quantize", 0) != 0};
}

void set_fake_quant_flags(Node& quantizer, QuantFlags flags) {
  quantizer.attrs["observe"] = std::int64_t{flags.observe};
  quantizer.attrs["quantize"] = std::int64_t{flags.quantize};
}

bool is_on(const Node& any_quantizer) { return any_quantizer.get_int("quantize", 0) != 0; }
void set_on(Node& bias_quantizer, bool on) { bias_quantizer.attrs["quantize"] = std::int64_t{on}; }

int set_state(Graph& graph, std::optional<Role> role, QuantFlags flags) {
  if (!role || *role == Role::kWeight || *role == Role::kBias)
    for (Node* node : bias_quantizers_of(graph)) set_on(*node, flags.quantize);
  int count = 0;
  for (Node* node : quantizers_of(graph)) {
    if (role && fake_quant_spec(*node).role != *role) continue;
    set_fake_quant_flags(*node, flags);
    ++count;
  }
  return count;
}

}  // namespace quench
