// fold_live_norms: what make_norms_live took apart becomes a plain layer (docs/numerics.md 8.5), for converting and
// deploying.
//   before: W, gamma, var, ... -> NormWeight -> FakeQuant -> conv [-> Div k -> Add b -> bn] -> users
//   after:  W * k -> FakeQuant -> conv(b') -> users
// The weight is the very tensor that NormWeight gives, so that the codes of the same quantizer are those that were
// trained. Channels whose factor k was too small to divide by (8.2) were trained as W * k_s and are folded with the
// true k; where their quantizer has a scale per channel, that shrinks with them, which keeps the codes (but for ties).
// They are noted with the layer: metadata "quench.guarded_channels" = "3 17".
#include <ATen/ATen.h>

#include "ops/norm_weight.h"
#include "passes/live_norm.h"
#include "passes/rewrite.h"
#include "quant/scale_rule.h"
#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// Whether a * x at the scale a * s has the codes of x at s: not if the weight is transformed or the grid differs.
bool follows_its_scale(const FakeQuantSpec& spec) {
  return (spec.algorithm == "fixed" || spec.algorithm == "lsq" || spec.algorithm == "adaround") &&
         spec.scheme.granularity() == Granularity::kChannel && !spec.scheme.power_of_two_scale();
}

// |k| / |k_s| times the scale, down to the least that a scale may be. A bias in int32 reads the same scale, and would
// not fit a smaller one: then the weight has coarser codes instead.
void shrink_scales(Graph& graph, const Node& quantizer, const at::Tensor& share) {
  Value& scale = *quantizer.input(1);
  const at::Tensor before = scale.tensor().detach();
  if (only_user(scale) != &quantizer || before.numel() != share.numel() ||
      !follows_its_scale(fake_quant_spec(quantizer)))
    return;
  const at::Tensor least = at::minimum(before.abs(), at::full_like(before, kScaleFloor));
  const at::Tensor shrunk = at::maximum(before.abs() * share.reshape(before.sizes()), least);
  graph.set_tensor(scale, at::where(share.reshape(before.sizes()) < 1, shrunk, before));
}

void mend_guarded(Graph& graph, const LiveNorm& live, const at::Tensor& factors) {
  const at::Tensor k = factors.flatten().abs();
  std::string channels;
  for (std::int64_t i = 0; i < k.numel(); ++i)
    if (k[i].item<float>() < kLeastNormFactor) channels += concat(channels.empty() ? "" : " ", i);
  if (channels.empty()) return;
  live.layer->metadata["quench.guarded_channels"] = channels;
  shrink_scales(graph, *live.quantizer, k / k.clamp_min(kLeastNormFactor));
}

// Replaces `output` by a constant, under the name of the constant it was made from if that is free now.
void replace_output(Graph& graph, Value& output, Value* source, const at::Tensor& tensor, const std::string& fresh) {
  std::string name = graph.unique_name(fresh);
  if (source && source->is_constant() && source->uses().empty() && !source->is_graph_output()) {
    name = source->name();
    graph.erase(*source);
  }
  graph.replace_uses(output, graph.add_constant(name, tensor.contiguous()));
}

void fold(Graph& graph, LiveNorm& live, bool was_guarded, const std::vector<at::Tensor>& values) {
  close_live_norm(graph, live);
  if (was_guarded) mend_guarded(graph, live, values[1]);
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
  std::vector<bool> guarded;
  for (const LiveNorm& live : all) {
    for (const Value* output : live.norm_weight->outputs()) names.push_back(output->name());
    guarded.push_back(live.norm_weight->get_int("guard", 0) != 0);
    live.norm_weight->attrs["guard"] = std::int64_t{0};  // the true k
  }
  NamedValues values = Executor(graph).run({}, names);  // without gradients: of constants alone
  for (std::size_t i = 0; i < all.size(); ++i) fold(graph, all[i], guarded[i], outputs_of(*all[i].norm_weight, values));
  run_passes(graph, {"eliminate_dead"});
  return static_cast<int>(all.size());
}

}  // namespace

QUENCH_REGISTER_PASS("fold_live_norms", fold_live_norms,
                     "a live BatchNormalization into its layer, with the weights that were trained: for deploying")

}  // namespace quench
