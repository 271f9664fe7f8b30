// A BatchNormalization that trains while the quantizer of its layer sees the weight as it will be folded
// (docs/numerics.md 8.2): the form that make_norms_live gives a layer, and that freeze_norms and fold_live_norms read.
//   open    W, gamma, var -> NormWeight -> FakeQuant -> layer (no bias) -> Div k -> Add b -> BatchNormalization
//   closed  W, gamma, var, mean, beta, b -> NormWeight -> FakeQuant -> layer (bias of NormWeight)
// Where the bias has a quantizer (8.4) the layer reads it in both forms, and a Sub takes the bias off before the Div.
// In a copy that trains (fuse_live_norms) a quench.LiveNorm stands for the open form's Sub, Div, Add and norm.
#pragma once

#include <vector>

#include "quench/graph.h"

namespace quench {

struct LiveNorm {
  Node* norm_weight = nullptr;
  Node* quantizer = nullptr;  // of the weight
  Node* layer = nullptr;
  Node* bias_quantizer = nullptr;  // quench.QuantizeBias or quench.FakeQuant; null if there is none
  std::vector<Node*> between;      // of an open one: what undoes the scaling
  Node* norm = nullptr;            // of an open one: the BatchNormalization or quench.LiveNorm
};

// In order of the graph. Throws if one has neither form, naming its node.
std::vector<LiveNorm> find_live_norms(Graph& graph);

// A BatchNormalization by running statistics when it does not train, or its fused form.
bool is_trainable_norm(const Node& node);

// The quantizer of a layer's bias, where it has one for itself.
Node* bias_quantizer_of(const Node& layer);

// From the open to the closed form. The layer's output takes the name of the BatchNormalization's, which the plan
// knows.
void close_live_norm(Graph& graph, LiveNorm& live);

}  // namespace quench
