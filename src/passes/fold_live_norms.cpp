// fold_live_norms: what make_norms_live took apart becomes a plain layer (numerics 8.5), for converting and deploying.
//   before: W, gamma, var, ... -> NormWeight -> FakeQuant -> conv [-> Div k -> Add b -> bn] -> users
//   after:  W * k -> FakeQuant -> conv(b') -> users
// The weight is the very tensor that NormWeight gives, so that the codes of the same quantizer are those that were
// trained. Channels whose factor was too small to divide by (8.2) are noted with the layer: metadata
// "quench.guarded_channels" = "3 17".
#include <ATen/ATen.h>

#include <cmath>

#include "ops/norm_weight.h"
#include "passes/live_norm.h"
#include "passes/rewrite.h"
#include "quench/executor.h"
#include "quench/pass.h"

namespace quench {
namespace {

void note_guarded(Node& layer, const at::Tensor& factors) {
  const at::Tensor k = factors.flatten();
  std::string channels;
  for (std::int64_t i = 0; i < k.numel(); ++i)
    if (std::abs(k[i].item<float>()) <= static_cast<float>(kLeastNormFactor))
      channels += concat(channels.empty() ? "" : " ", i);
  if (!channels.empty()) layer.metadata["quench.guarded_channels"] = channels;
}

// A constant in the place of `output`, under the name of the constant that it was made from, where that is free now.
void replace_output(Graph& graph, Value& output, Value* source, const at::Tensor& tensor, const std::string& fresh) {
  std::string name = graph.unique_name(fresh);
  if (source && source->is_constant() && source->uses().empty() && !source->is_graph_output()) {
    name = source->name();
    graph.erase(*source);
  }
  graph.replace_uses(output, graph.add_constant(name, tensor.contiguous()));
}

void fold(Graph& graph, LiveNorm& live, const std::vector<at::Tensor>& values) {
  close_live_norm(graph, live);
  if (live.norm_weight->get_int("guard", 0) != 0) note_guarded(*live.layer, values[1]);
  Node& node = *live.norm_weight;
  const std::vector<Value*> sources = node.inputs();
  graph.set_inputs(node, {});
  replace_output(graph, node.output(0), sources[0], values[0], live.layer->name() + ".weight");
  replace_output(graph, node.output(2), sources.size() > 5 ? sources[5] : nullptr, values[2],
                 live.layer->name() + ".bias");
  graph.erase(node);
}

std::vector<at::Tensor> outputs_of(const Node& node, NamedValues& values) {
  std::vector<at::Tensor> tensors;
  for (const Value* output : node.outputs()) tensors.push_back(values.at(output->name()).tensor());
  return tensors;
}

int fold_live_norms(Graph& graph) {
  std::vector<LiveNorm> all = find_live_norms(graph);
  if (all.empty()) return 0;
  std::vector<std::string> names;
  for (const LiveNorm& live : all)
    for (const Value* output : live.norm_weight->outputs()) names.push_back(output->name());
  NamedValues values = Executor(graph).run({}, names);  // without gradients: of constants alone
  for (LiveNorm& live : all) fold(graph, live, outputs_of(*live.norm_weight, values));
  run_passes(graph, {"eliminate_dead"});
  return static_cast<int>(all.size());
}

}  // namespace

QUENCH_REGISTER_PASS("fold_live_norms", fold_live_norms,
                     "a live BatchNormalization into its layer, with the weights that were trained: for deploying")

}  // namespace quench
