// Pairs of layers between whose channels a factor can be moved, and their weights by channel.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

struct LayerPair {
  Node* first = nullptr;
  Node* second = nullptr;
  Node* clip = nullptr;               // a Clip from 0 to some height lies between
  bool gated = false;                 // a product lies between
  int axis = 1;                       // of the channels in what lies between
  std::vector<const Value*> between;  // the first's output, up to what the second reads
};

// In order of the graph. For each layer with a weight that is not the first of a pair `skipped` says why. Pairs whose
// ranges must be measured (gated or clipped) are found where there is data.
std::vector<LayerPair> find_pairs(const Graph& graph, bool has_data, std::vector<std::string>& skipped);

double height_of(const Node& clip);  // where it cuts

// The weight as [output channels, rest], and as [input channels, rest].
at::Tensor output_rows(const Node& layer, const at::Tensor& weight);
at::Tensor input_rows(const Node& layer, const at::Tensor& weight);
// The weight with its output (input) channels times `factors`.
at::Tensor scale_outputs(const Node& layer, const at::Tensor& weight, const at::Tensor& factors);
at::Tensor scale_inputs(const Node& layer, const at::Tensor& weight, const at::Tensor& factors);

}  // namespace quench
