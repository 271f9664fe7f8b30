// Graph -> GraphProto. What bodies capture becomes a plain reference to the outer name again.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "quench/graph.h"

namespace quench_onnx {
class GraphProto;
class TensorProto;
}  // namespace quench_onnx

namespace quench {

// Writes dtype, dims and elements of a constant, in the file or beside it.
using StoreTensor = std::function<void(const at::Tensor& tensor, DType dtype, quench_onnx::TensorProto& proto)>;

void encode_graph(const Graph& graph, const StoreTensor& store, quench_onnx::GraphProto& proto);

// Operators that ONNX does not have but that vendors' tools look for in its own domain ("vendor.NNIEQuantize").
inline constexpr const char* kVendorDomain = "vendor";

// The domains of all operators, bodies included; "" is ONNX's own.
std::set<std::string> domains_of(const Graph& graph);
std::string domain_of(const std::string& op);  // "com.microsoft.Gelu" -> "com.microsoft"

}  // namespace quench
