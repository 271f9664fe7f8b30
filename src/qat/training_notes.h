// What training did to a network beyond its weights, for the record.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// Channels whose BatchNorm factor was too small to divide by (docs/numerics.md 8.2), a text for each layer with such.
std::vector<std::string> guarded_notes(const Graph& trained);
// Whether Dropout of the float network is gone from the one that trains; "" if none is.
std::string dropout_note(const Graph& original, const Graph& trained);

}  // namespace quench
