// What the platforms with explicit Q/DQ files share: docs/platforms.md 3, "explicit".
#pragma once

#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {

// standard_groups(), and Relu or Clip after any layer of these operators too: the clamp is the saturation of the
// quantizer that follows.
std::vector<OpChain> groups_with_clamps(const std::vector<std::string>& heads);

// Only moves or selects elements, so that the codes pass through: MaxPool, Reshape, Slice, Pad with zeros, nearest
// Resize ...
bool passes_codes(const PlanBuilder& plan, const Layer& layer);

// Gives what such layers write the scale of what they read, and quantizes what they read where only what they write
// was asked for.
void share_passed_codes(PlanBuilder& plan);

// For `refine`. What a MatMul reads is searched by squared error, which is what adds up in its sums: the few large
// values of a transformer's tensors must not be given up for the many small ones. Where the user named no observer.
void weigh_squares_for_products(PlanBuilder& plan);

std::string rule_for(const char* what, const Layer& layer);  // "input of Conv 'conv1'"

}  // namespace quench
