// Graph -> ONNX file, lowered to the requested opset, or refused, naming the operator.
#pragma once

#include <cstdint>
#include <string>

#include "quench/graph.h"

namespace quench {

struct ExportOptions {
  std::int64_t opset = 21;                          // 7 to 28
  std::int64_t external_threshold = 1'500'000'000;  // total bytes of tensors beyond which they go to PATH.data
};

// Written to a temporary file and renamed: a failure leaves no file and does not harm an existing one.
void export_onnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});
std::string export_onnx_bytes(const Graph& graph, const ExportOptions& options = {});

}  // namespace quench
