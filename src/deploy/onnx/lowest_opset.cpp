#include "deploy/onnx/lowest_opset.h"

#include "deploy/onnx/lower.h"
#include "deploy/onnx/op_versions.h"
#include "quench/error.h"

namespace quench {
namespace {

void lower_copy(const Graph& graph, std::int64_t opset) {
  Graph copy(graph);
  lower_graph(copy, opset);
}

}  // namespace

std::int64_t lowest_opset(const Graph& graph, std::int64_t first, std::int64_t asked) {
  if (asked != 0) {
    QUENCH_CHECK(asked >= first, "opset ", asked, " is too old for these files: ", first, " is the first that works");
    lower_copy(graph, asked);
    return asked;
  }
  for (std::int64_t opset = first; opset < kNewestOpset; ++opset) {
    try {
      lower_copy(graph, opset);
      return opset;
    } catch (const Error&) {  // something in it is newer
    }
  }
  lower_copy(graph, kNewestOpset);
  return kNewestOpset;
}

}  // namespace quench
