// GraphProto -> Graph, in the op versions of the file. Functions must have been inlined before.
#pragma once

#include "import/onnx/external.h"
#include "quench/graph.h"

namespace quench_onnx {
class GraphProto;
}

namespace quench {

// Takes the tensors' bytes out of `proto` as it goes, so that they are not held twice.
Graph build_graph(quench_onnx::GraphProto& proto, const ExternalData& external);

}  // namespace quench
