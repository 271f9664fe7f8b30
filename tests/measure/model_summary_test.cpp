#include "measure/model_summary.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/error.h"
#include "quench/op.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// x[N, 3, 8, 8] -> Conv (4 of 3x3x3, with bias) -> Relu, and an operator that nobody knows.
Graph small_model(bool with_unknown) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8, 8}));
  Value& weight = graph.add_constant("w", at::ones({4, 3, 3, 3}));
  Value& bias = graph.add_constant("b", at::ones({4}));
  Node& conv = graph.add("Conv", "conv", {&x, &weight, &bias});
  Node& relu = graph.add("Relu", "relu", {&conv.output()});
  Node& last = with_unknown ? graph.add("my.Op", "odd", {&relu.output()}) : relu;
  graph.add_output(last.output());
  if (!with_unknown) infer_shapes(graph);
  return graph;
}

TEST(Summarize, CountsParametersAndMacs) {
  const ModelSummary summary = summarize(small_model(false));
  ASSERT_EQ(summary.nodes.size(), 2U);
  EXPECT_EQ(summary.nodes[0].outputs, (std::vector<std::string>{"float[N, 4, 6, 6]"}));
  EXPECT_EQ(summary.nodes[0].parameters, 4 * 27 + 4);
  EXPECT_EQ(summary.nodes[0].macs, 36 * 4 * 27);
  EXPECT_EQ(summary.nodes[1].macs, 0);
  EXPECT_EQ(summary.macs, 36 * 4 * 27);
  EXPECT_EQ(summary.constant_bytes, 4 * (4 * 27 + 4));
  EXPECT_EQ(summary.op_counts, (std::map<std::string, std::int64_t>{{"Conv", 1}, {"Relu", 1}}));
  EXPECT_EQ(summary.inputs[0].type, "float[N, 3, 8, 8]");
}

TEST(Summarize, ScalesMacsWithTheGivenDims) {
  EXPECT_EQ(summarize(small_model(false), {{"N", 5}}).macs, 5 * 36 * 4 * 27);
}

// Once a bug: with 1 for every symbol a window of 2 did not fit.
TEST(Summarize, ChoosesSizesThatFit) {
  Graph graph;
  const Dims dims = {Dim::symbol("N"), 3, Dim::symbol("H"), Dim::symbol("W")};
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, dims));
  Node& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", at::ones({4, 3, 3, 3}))});
  Node& pool = graph.add("MaxPool", "pool", {&conv.output()});
  pool.attrs["kernel_shape"] = std::vector<std::int64_t>{2, 2};
  graph.add_output(pool.output());
  const ModelSummary summary = summarize(graph);
  EXPECT_EQ(summary.dims.at("N"), 1);
  EXPECT_EQ(summary.dims.at("H"), 4);
  EXPECT_EQ(summary.macs, 2 * 2 * 4 * 27);
  EXPECT_EQ(summarize(graph, {{"W", 6}}).macs, 2 * 4 * 4 * 27);
  EXPECT_ERROR(summarize(graph, {{"W", 2}}), "'conv'", "window of 3 does not fit into 2", "W = 2")
      << "what was given does not fit, whatever the others are";
}

TEST(Summarize, ShowsModelsWithUnknownOperators) {
  const ModelSummary summary = summarize(small_model(true));
  EXPECT_EQ(summary.unsupported, (std::map<std::string, std::int64_t>{{"my.Op", 1}}));
  EXPECT_FALSE(summary.nodes[2].supported);
  EXPECT_EQ(summary.macs_unknown, 1);
}

TEST(Summarize, CountsASharedWeightOnceAndShapesNever) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 2}));
  Value& weight = graph.add_constant("w", at::ones({2, 2}));
  Node& a = graph.add("MatMul", "a", {&x, &weight});
  Node& b = graph.add("MatMul", "b", {&a.output(), &weight});
  Node& c = graph.add("Reshape", "c", {&b.output(), &graph.add_constant("shape", at::tensor({4}, at::kLong))});
  graph.add_output(c.output());
  const ModelSummary summary = summarize(graph);
  EXPECT_EQ(summary.nodes[0].parameters, 4);
  EXPECT_EQ(summary.nodes[1].parameters, 0);
  EXPECT_EQ(summary.nodes[2].parameters, 0);
  EXPECT_EQ(summary.constant_bytes, 16 + 8);
}

TEST(BindDims, NamesADimensionThatIsNotThere) {
  try {
    bind_dims(small_model(false), {{"M", 2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "unknown dimension 'M'; did you mean 'N'? (known: N)");
  }
}

// It was as if recurrent layers and attention did nothing.
TEST(Summarize, WorkIsCountedOrNotKnown) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {7, Dim::symbol("N"), 5}));
  Value& w = graph.add_constant("w", at::ones({2, 4 * 3, 5}));
  Value& r = graph.add_constant("r", at::ones({2, 4 * 3, 3}));
  Node& layer = graph.add("LSTM", "lstm", {&x, &w, &r});
  layer.attrs["hidden_size"] = std::int64_t{3};
  layer.attrs["direction"] = std::string("bidirectional");
  Node& sum = graph.add("Einsum", "sum", {&layer.output(), &layer.output()});
  sum.attrs["equation"] = std::string("sdbh,sdbh->b");
  graph.add_output(sum.output());
  infer_shapes(graph);
  const ModelSummary summary = summarize(graph, {{"N", 2}});
  EXPECT_EQ(summary.macs, 7 * 2 * 2 * 12 * (5 + 3));
  EXPECT_EQ(summary.macs_unknown, 1);
}

}  // namespace
}  // namespace quench
