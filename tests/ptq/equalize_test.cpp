#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "data/content.h"
#include "quench/executor.h"
#include "quench/op.h"
#include "quench/ptq.h"

namespace quench {
namespace {

struct Net {
  Graph graph;
  Value* last;

  Net() { last = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 8, 8})); }
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

Graph with_clip(float low, float high) {
  at::manual_seed(4);
  Net net;
  net.conv("a", {8, 4, 3, 3});
  net.last = &net.graph
                  .add("Clip", "clip",
                       {net.last, &net.graph.add_constant("low", at::tensor(low)),
                        &net.graph.add_constant("high", at::tensor(high))})
                  .output();
  net.conv("b", {5, 8, 1, 1});
  return net.finish();
}

TEST(Equalize, AClipThatIsNoRelu6IsNamed) {
  Graph graph = with_clip(-1, 6);
  const at::Tensor x = at::randn({2, 4, 8, 8});
  const TensorData data(x);
  const EqualizeRecord record = equalize(graph, {.data = &data, .batch = 2});
  EXPECT_TRUE(record.pairs.empty());
  ASSERT_EQ(record.skipped.size(), 2u);
  EXPECT_EQ(record.skipped[0], "a: 'clip' (Clip), which is not a ReLU6, after it fixes the scale");
  EXPECT_EQ(record.skipped[1], "b: what it writes is an output of the network");
}

TEST(Equalize, ARelu6NeedsData) {
  Graph graph = with_clip(0, 6);
  const EqualizeRecord record = equalize(graph);
  EXPECT_TRUE(record.pairs.empty());
  EXPECT_EQ(record.skipped[0], "a: a ReLU6, 'clip': which channels it cuts must be measured, which needs data");
}

// Once a bug: a ReLU6 between all pairs left nothing to equalize. Channels that it cuts keep their scale, others are
// scaled as far as it still cuts none of them.
TEST(Equalize, ARelu6HoldsTheChannelsThatItCuts) {
  Graph graph = with_clip(0, 6);
  const at::Tensor x = at::randn({2, 4, 8, 8}), before = run(graph, x);
  const TensorData data(x);
  const auto channels = [&](const char* value) {
    return Executor(graph).run({{"x", RtValue(x)}}, {value}).at(value).tensor().movedim(1, 0).flatten(1).amax(1);
  };
  const at::Tensor cut = channels("a") > 6;
  ASSERT_GT(cut.sum().item<std::int64_t>(), 0);
  ASSERT_LT(cut.sum().item<std::int64_t>(), 8);
  const at::Tensor weight = graph.value("a.weight").tensor();
  const EqualizeRecord record = equalize(graph, {.data = &data, .batch = 2});
  ASSERT_EQ(record.pairs.size(), 1u) << record.skipped[0];
  EXPECT_EQ(record.pairs[0].clip, "clip");
  EXPECT_EQ(record.pairs[0].held, cut.sum().item<std::int64_t>());
  EXPECT_LT(record.pairs[0].spread_after, record.pairs[0].spread_before);
  const at::Tensor moved = (graph.value("a.weight").tensor() != weight).flatten(1).any(1);
  EXPECT_TRUE(at::equal(moved, cut.logical_not()));
  EXPECT_LE(channels("a").masked_select(moved).max().item<float>(), 6.0F * (1 + 0x1p-20F));
  // Sums of 36 and of 8 products, each weight rounded once more.
  EXPECT_LT((run(graph, x) - before).abs().max().item<double>(), 100 * 0x1p-24 * before.abs().max().item<double>());
}

// The ranges are measured on one image alone, the check is on both: the other is cut where that one was not.
TEST(Equalize, APairThatChangesTheNetworkIsUndoneAndNamed) {
  Graph graph = with_clip(0, 6);
  at::Tensor x = at::randn({2, 4, 8, 8});
  x[0] *= 0.01;
  const at::Tensor weight = graph.value("a.weight").tensor(), before = run(graph, x);
  const TensorData data(x);
  ASSERT_TRUE(at::equal(sample_of(data, 1)->get(0).inputs.tensor(), x[0])) << "choose another seed";
  const EqualizeRecord record = equalize(graph, {.data = &data, .batch = 1, .items = 1});
  EXPECT_TRUE(record.pairs.empty());
  ASSERT_EQ(record.skipped.size(), 2u);
  EXPECT_NE(record.skipped[1].find("a: scaled against 'b', it changes 'b' by"), std::string::npos) << record.skipped[1];
  EXPECT_TRUE(at::equal(graph.value("a.weight").tensor(), weight));
  EXPECT_TRUE(at::equal(run(graph, x), before));
}

// A MatMul works along the last axis, a Conv along the second; of an 8x8 image both have 8 "channels".
TEST(Equalize, AMatMulAndAConvAreNoPair) {
  at::manual_seed(6);
  Net net;
  net.conv("a", {8, 4, 1, 1});
  Value& w = net.graph.add_constant("w", at::randn({8, 8}) * at::logspace(-2, 1, 8));
  net.last = &net.graph.add("MatMul", "product", {net.last, &w}).output();
  net.conv("b", {8, 8, 1, 1});
  Graph graph = net.finish();
  const at::Tensor x = at::randn({2, 4, 8, 8}), before = run(graph, x);
  const EqualizeRecord record = equalize(graph);
  EXPECT_TRUE(record.pairs.empty());
  EXPECT_EQ(record.skipped[0],
            "a: 'product' (MatMul) reads channels along a different axis than 'a' (Conv) writes them");
  EXPECT_EQ(record.skipped[1],
            "product: 'b' (Conv) reads channels along a different axis than 'product' (MatMul) writes them");
  EXPECT_TRUE(at::equal(run(graph, x), before));
}

// A pool after a MatMul runs over its channels; after a Conv it does not.
TEST(Equalize, APoolBehindAMatMulFixesTheScale) {
  at::manual_seed(6);
  Net net;
  Value& w = net.graph.add_constant("w", at::randn({8, 8}));
  net.last = &net.graph.add("MatMul", "first", {net.last, &w}).output();
  Node& pool = net.graph.add("MaxPool", "pool", {net.last});
  pool.attrs["kernel_shape"] = std::vector<std::int64_t>{3, 3};
  pool.attrs["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  Value& v = net.graph.add_constant("v", at::randn({8, 8}));
  net.last = &net.graph.add("MatMul", "second", {&pool.output(), &v}).output();
  Graph graph = net.finish();
  const EqualizeRecord record = equalize(graph);
  EXPECT_TRUE(record.pairs.empty());
  EXPECT_EQ(record.skipped[0], "first: 'pool' (MaxPool) after it fixes the scale");
}

// The slope of a PRelu may be computed from the very tensor that is scaled.
TEST(Equalize, ASlopeThatIsComputedFixesTheScale) {
  for (const bool as_slope : {false, true}) {
    at::manual_seed(6);
    Net net;
    Value* x = net.last;
    net.conv("a", {4, 4, 1, 1});
    Value& slope = net.graph.add_constant("slope", at::rand({4, 1, 1}));
    const std::vector<Value*> inputs =
        as_slope ? std::vector<Value*>{x, net.last} : std::vector<Value*>{net.last, &slope};
    net.last = &net.graph.add("PRelu", "prelu", inputs).output();
    net.conv("b", {4, 4, 1, 1});
    Graph graph = net.finish();
    const EqualizeRecord record = equalize(graph);
    EXPECT_EQ(record.pairs.size(), as_slope ? 0u : 1u);
    EXPECT_LE(record.change, record.bound);
    if (as_slope) EXPECT_EQ(record.skipped[0], "a: 'prelu' (PRelu) after it fixes the scale");
  }
}

TEST(Equalize, WhatCannotBeCheckedIsNotDone) {
  Graph graph = chain();
  graph.value("x").set_type(TypeInfo::tensor(DType::kFloat));
  const at::Tensor weight = graph.value("a.weight").tensor();
  const EqualizeRecord record = equalize(graph);
  EXPECT_TRUE(record.pairs.empty());
  EXPECT_NE(record.skipped.back().find("cannot be checked without data"), std::string::npos) << record.skipped.back();
  EXPECT_TRUE(at::equal(graph.value("a.weight").tensor(), weight));
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
  ASSERT_EQ(blind.skipped.size(), 3u);  // up, gate, and down, after which nothing comes
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
