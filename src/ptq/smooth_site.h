// The places of a graph that SmoothQuant works on, and what is done to them.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"

namespace quench {

struct ConstantSlot {
  Node* node;
  int slot;
};

// A tensor that only linear layers with quantized weights read.
struct SmoothSite {
  PlanEntry* entry;
  Value* x;
  std::vector<ConstantSlot> scaled;  // the constants behind x that scale it channel by channel; may be none
  std::vector<Node*> layers;
  std::vector<const PlanEntry*> weights;
  const at::Tensor& weight(std::size_t layer) const { return layers[layer]->input(1)->tensor(); }
};

// In order of the plan; tensors that such layers read and that cannot be treated are named in `skipped`.
std::vector<SmoothSite> find_smooth_sites(Graph& graph, QuantPlan& plan, std::vector<std::string>& skipped);

// [inputs, outputs], whichever way the layer has its weight; the other way round it does the same.
at::Tensor by_input(const Node& layer, const at::Tensor& weight);

// Channel j of x is divided by factors[j] and row j of the weights multiplied. Channels whose factor is 0 leave the
// quantized product altogether: they are multiplied beside it, in float.
void apply_factors(Graph& graph, SmoothSite& site, const at::Tensor& factors);
bool needs_product(const SmoothSite& site, const at::Tensor& factors);  // a Mul behind x, for want of constants there

}  // namespace quench
