// mmrazor's quantizers: every input and the output of each matched layer is quantized, then redundant quantizers are
// left out. docs/platforms.md 6.
#pragma once

#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {

struct PatternRules {
  std::set<std::string> own;     // operators whose output has a quantizer of its own
  std::set<std::string> shares;  // operators whose output shares that of the input
  bool drops_redundant = false;  // before Relu6, after MaxPool, before the graph's outputs
};

void annotate_patterns(PlanBuilder& plan, const PatternRules& rules);

// Pooling, Relu and Relu6, and what moves elements around.
const std::set<std::string>& sharing_ops();

// Groups, weights and options of all four; schemes of the one that is named after torch.
Platform pattern_platform(const std::string& activation, const std::string& weight);

// Unsigned activations with the zero point 0 would cut what lies below zero: those are affine (D10).
void mend_unsigned(PlanBuilder& plan);

std::string refuses_all_but_quint8(const PlanEntry& entry, const Node* layer);  // weights int8, activations uint8

}  // namespace quench
