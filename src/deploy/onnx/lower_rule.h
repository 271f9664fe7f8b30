// A lowering rule takes a node back across one version of its operator: "ReduceMax@18" turns what opset
// 18 says into what opset 13 to 17 would say. Rules of one operator run from the newest version down.
#pragma once

#include "quench/graph.h"
#include "quench/registry.h"

namespace quench {

struct LowerRule {
  static constexpr const char* kKind = "lowering rule";
  // May put nodes before and after the node (of the opset that it is lowered to); keeps output names.
  void (*apply)(Graph& graph, Node& node) = nullptr;
};
using LowerRegistry = Registry<LowerRule>;

}  // namespace quench

// QUENCH_REGISTER_LOWERING("ReduceMax@18", reduce_18, "axes become an attribute")
#define QUENCH_REGISTER_LOWERING(name, function, summary) \
  QUENCH_REGISTER_ITEM(::quench::LowerRule, name, summary, {function})
