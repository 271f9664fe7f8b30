#pragma once

#include "quench/graph.h"

namespace quench {

// Quantizers under the names that vendors' tools use (quench/vendor_node.h), of ONNX's own domain or mmrazor's, become
// quench.FakeQuant, calibrated. If the node does not give the axis, it is that of the layer that reads it.
void read_vendor_quantizers(Graph& graph);

}  // namespace quench
