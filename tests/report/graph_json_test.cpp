#include "report/graph_json.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/quantizers.h"

namespace quench {
namespace {

Graph add_of(bool on) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3}));
  graph.add_output(graph.add("Add", "sum", {&x, &x}).output());
  insert_fake_quant(graph, x, {}, {false, on});
  return graph;
}

TEST(GraphJson, AQuantizerIsAMarkOnWhatIsRead) {
  const Json graph = graph_json(add_of(true));
  ASSERT_EQ(graph["nodes"].size(), 1U);
  EXPECT_EQ(graph["nodes"][0]["inputs"], Json({"x", "x"}));
  EXPECT_EQ(graph["nodes"][0]["quantized"], Json({1, 1}));
  EXPECT_EQ(graph["outputs"][0], Json({{"value", "sum"}, {"quantized", false}}));
  EXPECT_EQ(graph["values"]["x"]["shape"], "N x 3");
}

TEST(GraphJson, AQuantizerThatIsOffIsNone) {
  EXPECT_EQ(graph_json(add_of(false))["nodes"][0]["quantized"], Json({0, 0}));
}

}  // namespace
}  // namespace quench
