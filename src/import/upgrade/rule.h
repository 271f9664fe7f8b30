// An upgrade rule takes a node across one version of its operator: "Clip@11" turns what a Clip of opset
// 6 to 10 says into what opset 11 would say. Rules of one operator run in order of version; one that
// changes the operator (Upsample -> Resize) hands on to the rules of the new one.
#pragma once

#include "quench/graph.h"
#include "quench/registry.h"

namespace quench {

struct UpgradeRule {
  static constexpr const char* kKind = "upgrade rule";
  // Keeps the node and the names of its outputs; may put nodes (of the dialect) before and after it.
  void (*apply)(Graph& graph, Node& node) = nullptr;
};
using UpgradeRegistry = Registry<UpgradeRule>;

}  // namespace quench

// QUENCH_REGISTER_UPGRADE("Clip@11", clip_11, "min and max become inputs")
#define QUENCH_REGISTER_UPGRADE(name, function, summary) \
  QUENCH_REGISTER_ITEM(::quench::UpgradeRule, name, summary, {function})
