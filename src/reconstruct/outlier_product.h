// The product in float that smoothing puts beside a layer for a few outlier channels of what the layer reads
// (docs/numerics.md 10.4): a part of that layer, not a layer of its own, so that units are those of the network before.
//   x -> Gather -> MatMul ------------\
//   x -> Mul, Sub -> layer -> Add -> Add ->
#pragma once

#include "quench/graph.h"

namespace quench {

bool is_outlier_product(const Node* node);  // false for null

}  // namespace quench
