// The places of a graph that SmoothQuant works on, and what is done to them.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"

namespace quench {

struct ConstantSlot {
  Node* node = nullptr;
  int slot = -1;
};

// A tensor that only linear layers with quantized weights read.
struct SmoothSite {
  PlanEntry* entry = nullptr;
  Value* x = nullptr;
  std::vector<ConstantSlot> scaled;  // the constants before x that scale it channel by channel; may be none
  ConstantSlot offset;               // of these, the one that is added
  std::vector<Node*> layers;
  std::vector<const PlanEntry*> weights;
  std::vector<PlanEntry*> derived;   // biases whose scale derives from that of x
  bool splits = true;                // whether channels may be multiplied beside the layers: nothing is planned there
  std::vector<ConstantSlot> biases;  // of the layers; empty if one has none
  const at::Tensor& weight(std::size_t layer) const { return layers[layer]->input(1)->tensor(); }
};

// In order of the plan; tensors that such layers read and that cannot be treated are named in `skipped`.
std::vector<SmoothSite> find_smooth_sites(Graph& graph, QuantPlan& plan, std::vector<std::string>& skipped);

// [inputs, outputs], whichever way the layer has its weight; the other way round it does the same.
at::Tensor as_matrix(const Node& layer, const at::Tensor& weight);

// x_j becomes (x_j - shift_j) / factor_j, row j of the weights is multiplied by the factor, and what the shift takes
// away is added to the biases. Channels whose factor is 0 leave the quantized product altogether: they are multiplied
// beside it, in float. Both in double.
struct ChannelChange {
  const at::Tensor& factors;
  const at::Tensor& shifts;
};
void apply_change(Graph& graph, SmoothSite& site, const ChannelChange& change);

// Whether operators must be put after x, because no constants before it can absorb the change.
bool needs_product(const SmoothSite& site, const ChannelChange& change);

}  // namespace quench
