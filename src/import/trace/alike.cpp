// check_alike: two traces of one module may differ only in sizes and numbers.
#include <ATen/ATen.h>

#include <algorithm>

#include "import/trace/graph.h"
#include "quench/error.h"

namespace quench {
namespace {

bool same_blocks(const TraceNode& a, const TraceNode& b) {
  return std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                    [](const TraceBlock& left, const TraceBlock& right) {
                      return left.inputs == right.inputs && left.outputs == right.outputs && left.end == right.end;
                    });
}

}  // namespace

void check_alike(const Trace& a, const Trace& b, const std::string& what) {
  const auto kind_at = [](const Trace& trace, std::size_t i) {
    return i < trace.nodes.size() ? concat("'", trace.nodes[i].kind, "'") : "nothing";
  };
  for (std::size_t i = 0; i < std::max(a.nodes.size(), b.nodes.size()); ++i) {
    bool alike = i < a.nodes.size() && i < b.nodes.size();
    if (alike) {
      const TraceNode &left = a.nodes[i], &right = b.nodes[i];
      alike = left.kind == right.kind && left.inputs == right.inputs && left.outputs == right.outputs &&
              left.constant.index() == right.constant.index() && same_blocks(left, right);
    }
    QUENCH_CHECK(alike, "the module runs different operators for ", what, ": ", kind_at(b, i), " instead of ",
                 kind_at(a, i), "; control flow that depends on sizes or data cannot be traced");
  }
  QUENCH_CHECK(a.outputs == b.outputs, "the module returns different results for ", what);
}

}  // namespace quench
