// What quantizers make of constants, put in their place.
#pragma once

#include "quench/graph.h"

namespace quench {

// Puts the constant `value` in place of what the quantizer of a constant gives; under the constant's own name if
// nothing else reads that. For exporters that bake.
Value& replace_by_baked(Graph& graph, Node& quantizer, const at::Tensor& value);
// The same for exporters that keep the quantizer: quantizing it again gives the same codes, by whichever algorithm it
// was rounded.
void bake_source(Graph& graph, Node& quantizer, const at::Tensor& value);

void drop_empty_pads(Graph& graph);

}  // namespace quench
