// Sizes in bytes: of a model's weights in float and as a plan stores them, and of what a run holds at once.
#pragma once

#include <cstdint>

#include "quench/graph.h"
#include "quench/plan.h"

namespace quench {

struct WeightSize {
  std::int64_t float_bytes = 0;      // all constants as they are
  std::int64_t quantized_bytes = 0;  // codes in the type that files hold them in (7 bits take 8), with
                                     // scales and zero points; what stays float as it is
  std::int64_t quantized_elements = 0, elements = 0;
};
// `graph` is the float one that the plan is for.
WeightSize weight_size(const Graph& graph, const QuantPlan& plan);

// What a run at this batch size holds at its peak, constants not counted: from the shapes, with every tensor freed
// after its last use.
struct ActivationNeed {
  std::int64_t peak_bytes = 0;
  int unknown = 0;  // values whose shape is not known beforehand: not counted
};
ActivationNeed activation_need(const Graph& graph, std::int64_t batch);

}  // namespace quench
