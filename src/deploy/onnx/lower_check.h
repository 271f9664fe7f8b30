// The last word on a lowered node: whether the opset has its operator, attributes, inputs and types.
#pragma once

#include <cstdint>

#include "quench/graph.h"

namespace quench {

// Drops attributes that the opset lacks but that have the default value. Throws for what it cannot express,
// naming the node, the operator and the lowest opset that can. Other domains are not looked at.
void check_node(Node& node, std::int64_t opset);

}  // namespace quench
