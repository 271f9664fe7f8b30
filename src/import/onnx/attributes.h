// Attributes of an ONNX node. Graphs are not decoded here: they need the graph around them.
#pragma once

#include "import/onnx/external.h"
#include "quench/graph.h"

namespace quench_onnx {
class AttributeProto;
}

namespace quench {

bool holds_graphs(const quench_onnx::AttributeProto& proto);
// Throws when the declared type and the fields that are filled disagree.
Attr decode_attribute(const quench_onnx::AttributeProto& proto, const ExternalData& external);

}  // namespace quench
