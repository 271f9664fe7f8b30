// What torch's eager mode does, for the platforms that are its backends: docs/platforms.md 7.
#pragma once

#include "platforms/plan/limits.h"
#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {

// Quantizes what layers of known kinds write. Relu, pooling and what moves elements around work on codes; all else
// stays float, and what a known layer reads from there is quantized on the way in.
void annotate_eager(PlanBuilder& plan);

// A backend of torch: uint8 or uint7 activations with a histogram, int8 weights with min_max.
Platform eager_platform(const std::string& activation, const std::string& weight);

// For `refuses`: what torch's kernels cannot run; ConvTranspose with scales per channel among it.
std::string refuses_eager(const PlanEntry& entry, const Node* layer, Signs activations);

}  // namespace quench
