// How sensitive the network's outputs are to each element of a unit's output: what BRECQ weights squared errors by
// (Li et al. 2021, equation 10; docs/numerics.md 15.2).
#pragma once

#include "reconstruct/rest_of_network.h"

namespace quench {

// For every item and element; their mean is 1.
std::unique_ptr<RowStore> sensitivity_of(RestOfNetwork& rest, const Streams& streams, RowPool& pool,
                                         std::uint64_t seed);

}  // namespace quench
