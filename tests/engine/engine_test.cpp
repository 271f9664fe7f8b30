// Float graphs in the engine against the executor, and what both have in common: batches, islands, outputs, errors.
#include "quench/engine.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "quench/op.h"
#include "quench/process.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

// A graph of float nodes over one input [N, 8, 9, 10].
struct Net {
  Graph graph;
  Value* x;

  explicit Net(Dims dims = {Dim::symbol("N"), 8, 9, 10})
      : x(&graph.add_input("x", TypeInfo::tensor(DType::kFloat, std::move(dims)))) {}
  Value& weight(const Ints& sizes) { return graph.add_constant(graph.unique_name("w"), at::randn(sizes) * 0.2); }
  Value& integers(const Ints& values) {
    return graph.add_constant(graph.unique_name("i"), at::tensor(at::ArrayRef<std::int64_t>(values)));
  }
  Value& add(const std::string& op, std::vector<Value*> inputs, std::map<std::string, Attr> attrs = {}) {
    Node& node = graph.add(op, graph.unique_name(op), inputs);
    node.attrs = std::move(attrs);
    return node.output();
  }
  Value& conv(Value& from, std::int64_t in, std::int64_t out) {
    return add("Conv", {&from, &weight({out, in, 3, 3}), &weight({out})}, {{"pads", Ints{1, 1, 1, 1}}});
  }
  void finish(Value& y) {
    graph.add_output(y);
    infer_shapes(graph);
  }
};

// Sums are formed in another order: at most a few units in the last place of the largest number.
void expect_close(const std::vector<RtValue>& found, const std::vector<RtValue>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].type().text(), expected[i].type().text()) << what;
    const at::Tensor &a = found[i].tensor(), &b = expected[i].tensor();
    const double bound = 64 * 6e-8 * std::max(1.0, b.abs().max().item<double>());
    EXPECT_LE((a - b).abs().max().item<double>(), bound) << what;
  }
}

void expect_as_executor(const Net& net, const std::string& what, bool native = true) {
  for (const std::int64_t batch : {1, 2, 7}) {
    const at::Tensor x = at::randn({batch, 8, 9, 10});
    Engine engine(net.graph);
    expect_close(engine.run({x}), Executor(net.graph).run({x}), what);
    if (native && has_engine_kernels())
      for (const EngineStep& step : engine.steps()) EXPECT_NE(step.kernel, "executor") << what << ", " << step.op;
  }
}

TEST(Engine, ComputesWhatTheExecutorDoes) {
  at::manual_seed(1);
  const std::map<std::string, std::function<Value&(Net&)>> nets = {
      {"Conv", [](Net& n) -> Value& { return n.conv(*n.x, 8, 16); }},
      {"Conv in groups",
       [](Net& n) -> Value& {
         return n.add("Conv", {n.x, &n.weight({8, 1, 3, 3})}, {{"group", std::int64_t{8}}, {"strides", Ints{2, 1}}});
       }},
      {"Conv by auto_pad",
       [](Net& n) -> Value& {
         return n.add("Conv", {n.x, &n.weight({5, 8, 2, 4})}, {{"auto_pad", std::string("SAME_LOWER")}});
       }},
      {"Conv, Relu", [](Net& n) -> Value& { return n.add("Relu", {&n.conv(*n.x, 8, 8)}); }},
      {"residual block",
       [](Net& n) -> Value& {
         Value& first = n.add("Relu", {&n.conv(*n.x, 8, 8)});
         return n.add("Relu", {&n.add("Add", {&n.conv(first, 8, 8), &first})});
       }},
      {"an Add that comes first",
       [](Net& n) -> Value& {
         Value& left = n.conv(*n.x, 8, 8);
         Value& right = n.conv(*n.x, 8, 8);
         return n.add("Add", {&left, &right});
       }},
      {"a value added to itself",
       [](Net& n) -> Value& {
         Value& y = n.conv(*n.x, 8, 8);
         return n.add("Add", {&y, &y});
       }},
      {"pools",
       [](Net& n) -> Value& {
         Value& y = n.add("MaxPool", {&n.conv(*n.x, 8, 16)},
                          {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", std::int64_t{1}}});
         return n.add("AveragePool", {&y}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}});
       }},
      {"classifier",
       [](Net& n) -> Value& {
         Value& y = n.add("Flatten", {&n.add("GlobalAveragePool", {&n.conv(*n.x, 8, 16)})});
         return n.add("Softmax",
                      {&n.add("Gemm", {&y, &n.weight({10, 16}), &n.weight({10})}, {{"transB", std::int64_t{1}}})});
       }},
      {"Concat, Slice, Pad, Transpose",
       [](Net& n) -> Value& {
         Value& y = n.add("Concat", {&n.conv(*n.x, 8, 16), &n.conv(*n.x, 8, 8)}, {{"axis", std::int64_t{1}}});
         Value& cut = n.add(
             "Slice", {&y, &n.integers({1, -8}), &n.integers({9, 100}), &n.integers({2, 1}), &n.integers({2, 3})});
         Value& wide = n.add("Pad", {&cut, &n.integers({0, 1, 0, 0, 0, 0, 2, 1})});
         return n.add("Transpose", {&wide}, {{"perm", Ints{0, 3, 1, 2}}});
       }},
      {"activations",
       [](Net& n) -> Value& {
         Value* y = &n.conv(*n.x, 8, 8);
         for (const char* op : {"Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Elu", "HardSigmoid", "Gelu"})
           y = &n.add(op, {&n.conv(*y, 8, 8)});
         return *y;
       }},
      {"sums and products with constants",
       [](Net& n) -> Value& {
         Value& y = n.add("Mul", {&n.conv(*n.x, 8, 16), &n.weight({1, 16, 1, 1})});
         return n.add("Sub", {&n.add("Add", {&y, &n.weight({10})}), &n.weight({1})});
       }},
      {"LayerNormalization, MatMul", [](Net& n) -> Value& {
         Value& y = n.add("LayerNormalization", {n.x, &n.weight({10}), &n.weight({10})}, {{"axis", std::int64_t{-1}}});
         Value& left = n.add("MatMul", {&y, &n.weight({10, 12})});
         return n.add("MatMul", {&left, &n.add("Transpose", {&left}, {{"perm", Ints{0, 1, 3, 2}}})});
       }}};
  for (const auto& [what, make] : nets) {
    Net net;
    net.finish(make(net));
    expect_as_executor(net, what);
  }
}

TEST(Engine, GivesConstantsAsTheyAre) {
  Net net;
  net.graph.add_output(net.add("Relu", {net.x}));
  net.graph.add_output(net.integers({3, 1, 2}));
  net.finish(net.weight({4}));
  const at::Tensor x = at::randn({4, 8, 9, 10});
  const std::vector<RtValue> found = Engine(net.graph).run({x});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[1].tensor().equal(at::tensor({3, 1, 2}, at::kLong)));
  EXPECT_TRUE(found[2].tensor().equal(net.graph.outputs()[2]->tensor()));
}

TEST(Engine, LeavesWhatItHasNoKernelForToTheExecutor) {
  at::manual_seed(2);
  Net net;
  Value& folded = net.add("CumSum", {&net.conv(*net.x, 8, 16), &net.integers({1})});  // mixes channels, not items
  Value& y = net.conv(net.add("Abs", {&folded}), 16, 8);
  net.finish(y);
  net.graph.add_output(folded);
  expect_as_executor(net, "islands", false);
}

TEST(Engine, CutsABatchOnlyWhereItemsAreIndependent) {
  at::manual_seed(3);
  set_threads(2);
  Net items, mixed;
  items.finish(items.conv(*items.x, 8, 8));
  Value& y = mixed.conv(*mixed.x, 8, 8);
  mixed.finish(mixed.add("Softmax", {&y}, {{"axis", std::int64_t{0}}}));
  const at::Tensor x = at::randn({6, 8, 9, 10});
  Engine by_item(items.graph, {.threads = 2, .part = 2}), whole(mixed.graph, {.threads = 2, .part = 2});
  expect_close(by_item.run({x}), Executor(items.graph).run({x}), "items");
  expect_close(whole.run({x}), Executor(mixed.graph).run({x}), "mixed");
  EXPECT_EQ(by_item.part(), has_engine_kernels() ? 2 : 0);
  EXPECT_EQ(whole.part(), 0);
}

TEST(Engine, GivesTheSameBitsForEveryCutOfABatch) {
  at::manual_seed(4);
  Net net;
  net.finish(net.add("Relu", {&net.conv(net.add("Relu", {&net.conv(*net.x, 8, 16)}), 16, 8)}));
  const at::Tensor x = at::randn({7, 8, 9, 10});
  const at::Tensor first = Engine(net.graph, {.threads = 2, .part = 1}).run({x})[0].tensor();
  for (const int part : {2, 3})
    EXPECT_TRUE(at::equal(Engine(net.graph, {.threads = 2, .part = part}).run({x})[0].tensor(), first)) << part;
}

TEST(Engine, TakesShapesThatChange) {
  at::manual_seed(5);
  Net net({Dim::symbol("N"), 8, Dim::symbol("H"), Dim::symbol("W")});
  net.finish(net.add("GlobalAveragePool", {&net.conv(*net.x, 8, 8)}));
  Engine engine(net.graph);
  for (const Ints& sizes : {Ints{1, 8, 9, 10}, Ints{4, 8, 5, 6}, Ints{1, 8, 9, 10}, Ints{3, 8, 31, 4}}) {
    const at::Tensor x = at::randn(sizes);
    expect_close(engine.run({x}), Executor(net.graph).run({x}), "shapes");
  }
}

TEST(Engine, TakesInputsThatAreNotInOrder) {
  at::manual_seed(6);
  Net net;
  net.finish(net.conv(*net.x, 8, 8));
  const at::Tensor x = at::randn({4, 8, 10, 9}).transpose(2, 3);
  expect_close(Engine(net.graph).run({x}), Executor(net.graph).run({x}), "transposed");
}

TEST(Engine, KeepsNaN) {
  Net net;
  net.finish(net.conv(*net.x, 8, 8));
  at::Tensor x = at::randn({2, 8, 9, 10});
  x[1][3][4][5] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor y = Engine(net.graph).run({x})[0].tensor();
  EXPECT_FALSE(y[0].isnan().any().item<bool>());
  EXPECT_EQ(y[1].isnan().sum().item<std::int64_t>(), 8 * 9);
}

TEST(Engine, TakesBatchesOfNothing) {
  Net net;
  net.finish(net.conv(*net.x, 8, 8));
  EXPECT_EQ(Engine(net.graph).run({at::empty({0, 8, 9, 10})})[0].tensor().sizes(), (Ints{0, 8, 9, 10}));
}

TEST(Engine, SaysWhatIsWrongWithItsInputs) {
  Net net;
  net.finish(net.conv(*net.x, 8, 8));
  Engine engine(net.graph);
  EXPECT_ERROR(engine.run(std::vector<RtValue>()), "the graph takes 1 inputs, 0 were given");
  EXPECT_ERROR(engine.run({at::randn({1, 8, 9})}), "input 'x' must have the shape [N, 8, 9, 10], not [1, 8, 9]");
  EXPECT_ERROR(engine.run({at::ones({1, 8, 9, 10}, at::kInt)}), "input 'x' must be float, not int32");
}

TEST(Engine, CountsItsMemory) {
  Net net;
  net.finish(net.conv(*net.x, 8, 8));
  Engine engine(net.graph, {.threads = 1});
  engine.run({at::randn({1, 8, 9, 10})});
  EXPECT_GE(engine.weight_bytes(), 4 * (8 * 8 * 9 + 8));
  if (has_engine_kernels()) {
    EXPECT_GE(engine.arena_bytes(), 4 * 8 * 9 * 10);
  }
  EXPECT_LE(engine.arena_bytes(), 1 << 20);
}

TEST(Engine, ShowsValuesAsTheyAreComputed) {
  at::manual_seed(7);
  Net net;
  Value& first = net.add("Relu", {&net.conv(*net.x, 8, 16)});
  Value& last = net.add("CumSum", {&net.conv(first, 16, 24), &net.integers({1})});
  net.finish(first);
  net.graph.add_output(last);
  infer_shapes(net.graph);
  const at::Tensor x = at::randn({5, 8, 9, 10});
  const std::vector<RtValue> expected = Executor(net.graph).run({x});
  for (const bool any_order : {false, true}) {
    std::map<std::string, at::Tensor> seen;
    EngineOptions options;
    for (const Value* value : net.graph.outputs())
      options.watches.push_back(
          {value->name(), any_order, [&seen, value](const at::Tensor& t) { seen[value->name()] = t.clone(); }});
    EXPECT_TRUE(Engine(net.graph, options).run({x}).empty()) << "what is watched is not returned";
    for (std::size_t i = 0; i < 2; ++i) {
      const at::Tensor &found = seen.at(net.graph.outputs()[i]->name()), &wanted = expected[i].tensor();
      EXPECT_EQ(found.size(0), 5);
      const auto ordered = [&](const at::Tensor& t) { return any_order ? std::get<0>(t.reshape({5, -1}).sort(1)) : t; };
      EXPECT_TRUE(at::allclose(ordered(found), ordered(wanted), 1e-4, 1e-5));
    }
  }
}

TEST(Engine, TimesItsStepsWhenAsked) {
  if (!has_engine_kernels()) GTEST_SKIP() << "built without oneDNN";
  Net net;
  net.finish(net.add("Relu", {&net.conv(*net.x, 8, 8)}));
  Engine engine(net.graph, {.threads = 1, .measure = true});
  engine.run({at::randn({1, 8, 9, 10})});
  double seconds = 0;
  for (const EngineStep& step : engine.steps()) seconds += step.seconds;
  EXPECT_GT(seconds, 0.0);
}

}  // namespace
}  // namespace quench
