#include <gtest/gtest.h>

#include "platforms/small_graph.h"

namespace quench {
namespace {

// Once a bug: what a user deletes from a plan was listed neither as quantized nor as float.
TEST(RemovedEntries, AreListedAsFloat) {
  const Graph graph = small_graph();
  const QuantConfig config = config_for("onnxruntime");
  const QuantPlan whole = make_plan(graph, config);
  QuantPlan edited = whole;
  ASSERT_TRUE(edited.find("conv1.weight"));
  std::erase_if(edited.entries, [](const PlanEntry& entry) { return entry.value == "conv1.weight"; });
  list_removed_entries(graph, config, edited);
  EXPECT_EQ(reason_of(edited, "conv1.weight"), "taken out of the plan (weight of Conv 'conv1')");
  EXPECT_EQ(edited.skipped.size(), whole.skipped.size() + 1);
}

TEST(RemovedEntries, NothingIsListedTwiceOrForNothing) {
  const Graph graph = small_graph();
  const QuantConfig config = config_for("onnxruntime");
  const QuantPlan whole = make_plan(graph, config);
  QuantPlan edited = whole;
  list_removed_entries(graph, config, edited);
  EXPECT_EQ(edited.skipped.size(), whole.skipped.size());
  // An entry for a tensor that the platform leaves float: it is float no longer.
  ASSERT_EQ(reason_of(edited, "conv1"), "inside the fused layer 'conv1'");
  PlanEntry added = *whole.find("x");
  added.value = "conv1";
  edited.entries.push_back(added);
  list_removed_entries(graph, config, edited);
  EXPECT_EQ(reason_of(edited, "conv1"), "");
}

}  // namespace
}  // namespace quench
