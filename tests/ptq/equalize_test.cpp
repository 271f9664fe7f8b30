#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/executor.h"
#include "quench/op.h"
#include "quench/ptq.h"

namespace quench {
namespace {

struct Net {
  Graph graph;
  Value* last;

  Net() { last = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 4, 8, 8})); }
  void conv(const std::string& name, std::vector<std::int64_t> sizes, std::int64_t group = 1) {
    // Channels of very different sizes: what equalization is for.
    at::Tensor weight = at::randn(sizes) * at::logspace(-2, 1, sizes[0]).reshape({-1, 1, 1, 1});
    Value& w = graph.add_constant(name + ".weight", weight);
    Value& b = graph.add_constant(name + ".bias", at::randn({sizes[0]}));
    Node& node = graph.add("Conv", name, {last, &w, &b});
    node.attrs["group"] = group;
    last = &node.output();
  }
  void unary(const std::string& op) { last = &graph.add(op, op + last->name(), {last}).output(); }
  Graph finish() {
    graph.add_output(*last);
    infer_shapes(graph);
    graph.verify();
    return std::move(graph);
  }
};

at::Tensor run(const Graph& graph, const at::Tensor& x) { return Executor(graph).run({RtValue(x)})[0].tensor(); }

Graph chain() {
  at::manual_seed(3);
  Net net;
  net.conv("a", {8, 4, 3, 3});
  net.unary("Relu");
  net.conv("depthwise", {8, 1, 3, 3}, 8);
  net.unary("Relu");
  net.conv("grouped", {6, 4, 1, 1}, 2);
  net.conv("last", {5, 6, 1, 1});
  return net.finish();
}

TEST(Equalize, TheNetworkComputesTheSame) {
  Graph graph = chain();
  const at::Tensor x = at::randn({2, 4, 8, 8}), before = run(graph, x);
  const EqualizeRecord record = equalize(graph);
  EXPECT_EQ(record.pairs.size(), 3u);
  const at::Tensor after = run(graph, x);
  // Each element is a sum of at most 8 * 9 * 1 * 4 * 6 products of factors rounded once each; scaled sums differ by a
  // few roundings of the largest term. 2^-24 times some hundred terms of the size of the largest output.
  const double bound = 500 * 0x1p-24 * before.abs().max().item<double>();
  EXPECT_LT((after - before).abs().max().item<double>(), bound);
  EXPECT_FALSE(at::equal(graph.value("a.weight").tensor(), chain().value("a.weight").tensor()));
}

TEST(Equalize, ChannelsOfAPairHaveOneRange) {
  Graph graph = chain();
  const EqualizeRecord record = equalize(graph);
  EXPECT_LT(record.rounds, 20);  // it settles
  for (const EqualizedPair& pair : record.pairs) EXPECT_LT(pair.spread_after, pair.spread_before) << pair.first;
  const at::Tensor r1 = graph.value("a.weight").tensor().flatten(1).abs().amax(1);
  const at::Tensor r2 = graph.value("depthwise.weight").tensor().flatten(1).abs().amax(1);
  EXPECT_LT((r1 / r2).log().abs().max().item<double>(), 0.01);  // the tolerance of the rounds, a few times over
}

TEST(Equalize, AClipIsNamed) {
  at::manual_seed(4);
  Net net;
  net.conv("a", {8, 4, 3, 3});
  net.last = &net.graph
                  .add("Clip", "clip",
                       {net.last, &net.graph.add_constant("low", at::tensor(0.0F)),
                        &net.graph.add_constant("high", at::tensor(6.0F))})
                  .output();
  net.conv("b", {5, 8, 1, 1});
  Graph graph = net.finish();
  const EqualizeRecord record = equalize(graph);
  EXPECT_TRUE(record.pairs.empty());
  ASSERT_EQ(record.skipped.size(), 1u);
  EXPECT_EQ(record.skipped[0], "a: a Clip between them fixes the scale");
}

TEST(Equalize, ABranchIsLeftAlone) {
  at::manual_seed(4);
  Net net;
  net.conv("a", {4, 4, 1, 1});
  Value* branch = net.last;
  net.conv("b", {4, 4, 1, 1});
  net.last = &net.graph.add("Add", "sum", {net.last, branch}).output();
  Graph graph = net.finish();
  EXPECT_TRUE(equalize(graph).pairs.empty());
}

TEST(Equalize, ADeadChannelKeepsItsZeros) {
  at::manual_seed(5);
  Net net;
  net.conv("a", {4, 4, 1, 1});
  net.unary("Relu");
  net.conv("b", {4, 4, 1, 1});
  Graph graph = net.finish();
  at::Tensor dead = graph.value("a.weight").tensor().clone();
  dead[1].zero_();
  graph.set_tensor(graph.value("a.weight"), dead);
  EXPECT_EQ(equalize(graph).pairs.size(), 1u);
  EXPECT_TRUE(graph.value("a.weight").tensor().isfinite().all().item<bool>());
  EXPECT_TRUE(graph.value("b.weight").tensor().isfinite().all().item<bool>());
  EXPECT_EQ(graph.value("a.weight").tensor()[1].abs().max().item<float>(), 0);
}

// x -> up [4, 6] -> Mul (gate: of x * x) -> down [6, 3]: a gated feed-forward layer, with one channel that is large
// only by its gate.
Graph gated() {
  at::manual_seed(5);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 4}));
  Value& up = graph.add("MatMul", "up", {&x, &graph.add_constant("up.weight", at::randn({4, 6}))}).output();
  at::Tensor sizes = at::ones({6});
  sizes[2] = 1000;
  Value& open = graph.add("Mul", "open", {&x, &x}).output();
  Value& gate =
      graph.add("MatMul", "gate", {&open, &graph.add_constant("gate.weight", at::ones({4, 6}) * sizes)}).output();
  Value& product = graph.add("Mul", "product", {&gate, &up}).output();
  Node& down = graph.add("MatMul", "down", {&product, &graph.add_constant("down.weight", at::randn({6, 3}))});
  graph.add_output(down.output());
  infer_shapes(graph);
  graph.verify();
  return graph;
}

TEST(Equalize, MeasuresWhatAProductGives) {
  Graph graph = gated();
  const at::Tensor x = at::randn({2, 4}), before = run(graph, x);
  const EqualizeRecord blind = equalize(graph);
  EXPECT_TRUE(blind.pairs.empty());
  ASSERT_EQ(blind.skipped.size(), 2u);  // up and gate
  EXPECT_NE(blind.skipped[0].find("a product in front of 'down'"), std::string::npos) << blind.skipped[0];

  const TensorData data(x);
  const EqualizeRecord record = equalize(graph, {.data = &data, .batch = 2});
  ASSERT_EQ(record.pairs.size(), 1u);  // either operand of the product could take the factors: the first does
  EXPECT_EQ(record.pairs[0].first, "up");
  // One more rounding for each of the scaled weights; sums of 4 * 6 terms no larger than the largest output's.
  EXPECT_LT((run(graph, x) - before).abs().max().item<double>(), 100 * 0x1p-24 * before.abs().max().item<double>());
  EXPECT_GT(record.pairs[0].largest_factor, 10.0);  // sqrt of a range near 1000 times the others
}

}  // namespace
}  // namespace quench
