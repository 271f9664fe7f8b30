#include "deploy/forms/saturation.h"

#include <ATen/ATen.h>

#include "convert/quantized.h"
#include "ops/clamp.h"
#include "passes/rewrite.h"

namespace quench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rounding is monotone: what lies beyond an end of the clamp gets the code of that end, with the clamp; the last code,
// without. So the two must be the same.
bool saturates(const Clamp& clamp, const QType& type, QuantizeBy by) {
  if (!clamp.known || clamp.low > clamp.high || !type.scheme.is_int() || !type.scheme.per_tensor()) return false;
  const auto code = [&](double x) { return quantize_reference(at::full({1}, x, at::kFloat), type, by).item<int>(); };
  return (clamp.low == -kInfinity || code(clamp.low) == type.scheme.qmin()) &&
         (clamp.high == kInfinity || code(clamp.high) == type.scheme.qmax());
}

}  // namespace

int drop_saturated_clamps(Graph& graph) {
  int dropped = 0;
  for (const Node* quantizer : quantizers_of(graph)) {
    Node* clamp = quantizer->input(0)->producer();
    if (!clamp || !clamp->input(0) || only_user(clamp->output()) != quantizer) continue;
    // The layer behind the clamp must be the one that saturates: an input of the model keeps its Relu.
    if (!clamp->input(0)->producer() || clamp->input(0)->is_graph_output()) continue;
    if (!saturates(clamp_of(*clamp), qtype_of(*quantizer), fake_quant_spec(*quantizer).by)) continue;
    Value& source = *clamp->input(0);
    const std::string name = clamp->output().name();
    graph.replace_uses(clamp->output(), source);
    graph.erase(*clamp);
    if (only_user(source) == quantizer) graph.rename(source, name);  // the quantized tensor keeps its name
    ++dropped;
  }
  return dropped;
}

}  // namespace quench
