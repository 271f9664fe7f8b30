#include <gtest/gtest.h>

#include "ops/run_op.h"

namespace quench {
namespace {

// The static dims of `op` over a float input of these dims and an int64 constant.
std::string inferred_dims(const std::string& op, Dims dims, std::vector<std::int64_t> second, const Attrs& attrs = {}) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, std::move(dims)));
  Value& constant = graph.add_constant("c", at::tensor(second, at::kLong));
  Node& node = graph.add(op, "node", {&x, &constant});
  node.attrs = attrs;
  graph.add_output(node.output());
  infer_shapes(graph);
  return node.output().has_rank() ? text_of(node.output().dims()) : "*";
}

TEST(Reshape, ZeroCopiesAndMinusOneInfers) {
  const RtValue x = at::arange(24.0F).reshape({2, 3, 4});
  EXPECT_EQ(run_one("Reshape", {x, ints({0, -1})}).sizes(), at::IntArrayRef({2, 12}));
  EXPECT_EQ(run_one("Reshape", {at::zeros({0, 3, 4}), ints({3, 4, 0})}, {{"allowzero", std::int64_t{1}}}).sizes(),
            at::IntArrayRef({3, 4, 0}));
  EXPECT_EQ(reason_of([&] { run_one("Reshape", {floats({1}), ints({1, 0})}); }),
            "dim 1 of the new shape is 0 (copy the input's), but the input has only 1 dims");
}

TEST(Reshape, InfersThroughSymbols) {
  EXPECT_EQ(inferred_dims("Reshape", {Dim::symbol("N"), 3, 4}, {0, -1}), "[N, 12]");
  EXPECT_EQ(inferred_dims("Reshape", {Dim::symbol("N"), 3, 4}, {-1, 6}), "[2*N, 6]");
  EXPECT_EQ(inferred_dims("Unsqueeze", {Dim::symbol("N"), 3}, {0, -1}), "[1, N, 3, 1]");
  EXPECT_EQ(inferred_dims("Squeeze", {Dim::symbol("N"), 1, 3}, {1}), "[N, 3]");
  EXPECT_EQ(inferred_dims("Expand", {Dim::symbol("N"), 1}, {1, 5}), "[N, 5]");
  EXPECT_EQ(inferred_dims("Tile", {Dim::symbol("N"), 2}, {2, 3}), "[2*N, 6]");
}

TEST(Reshape, FollowsAShapeThatWasTakenApartAndJoinedAgain) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 4}));
  Value& shape = graph.add("Shape", "shape", {&x}).output();
  Value& zero = graph.add_constant("zero", at::tensor(0, at::kLong).reshape({}));
  Value& axes = graph.add_constant("axes", at::zeros({1}, at::kLong));
  Value& rest = graph.add_constant("rest", at::tensor(std::vector<std::int64_t>{-1}, at::kLong));
  Value& first = graph.add("Gather", "first", {&shape, &zero}).output();
  Value& vector = graph.add("Unsqueeze", "vector", {&first, &axes}).output();
  Node& joined = graph.add("Concat", "joined", {&vector, &rest});
  joined.attrs["axis"] = std::int64_t{0};
  Value& y = graph.add("Reshape", "y", {&x, &joined.output()}).output();
  graph.add_output(y);
  infer_shapes(graph);
  EXPECT_EQ(y.type().text(), "float[N, 12]");
  Executor executor(graph);
  EXPECT_EQ(executor.run({at::zeros({5, 3, 4})})[0].tensor().sizes(), at::IntArrayRef({5, 12}));
}

TEST(Reshape, SqueezeRefusesADimThatIsNotOne) {
  EXPECT_EQ(reason_of([] { run_one("Squeeze", {at::zeros({2, 3}), ints({1})}); }),
            "cannot squeeze axis 1: its size is 3, not 1");
}

TEST(Reshape, TransposeAndFlattenKeepGradients) {
  const at::Tensor x = at::randn({2, 3, 4}).requires_grad_();
  Graph graph = one_node("Transpose", {x}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}});
  ExecOptions options;
  options.grad = true;
  Executor executor(graph, options);
  const at::Tensor y = executor.run({x})[0].tensor();
  EXPECT_EQ(y.sizes(), at::IntArrayRef({4, 2, 3}));
  y.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::ones_like(x)));
}

TEST(Slice, TakesNegativeStepsAndClamps) {
  const RtValue x = at::arange(10.0F);
  EXPECT_TRUE(at::equal(run_one("Slice", {x, ints({-1}), ints({INT64_MIN}), ints({0}), ints({-3})}),
                        at::tensor({9.0F, 6.0F, 3.0F, 0.0F})));
  EXPECT_TRUE(at::equal(run_one("Slice", {x, ints({7}), ints({1000})}), at::tensor({7.0F, 8.0F, 9.0F})));
  EXPECT_EQ(run_one("Slice", {x, ints({1000}), ints({1001})}).numel(), 0);
  EXPECT_EQ(run_one("Slice", {x, ints({3}), ints({5}), ints({0}), ints({-1})}).numel(), 0);
}

TEST(Split, LastPartIsSmaller) {
  const auto parts = run_op("Split", {at::arange(7.0F)}, {{"num_outputs", std::int64_t{4}}}, 4);
  EXPECT_EQ(parts[0].tensor().numel(), 2);
  EXPECT_TRUE(at::equal(parts[3].tensor(), at::tensor({6.0F})));
}

TEST(Pad, ReflectsRepeatsAndWraps) {
  const RtValue x = floats({1, 2, 3});
  const auto by = [&](const char* mode) { return run_one("Pad", {x, ints({2, 2})}, {{"mode", std::string(mode)}}); };
  EXPECT_TRUE(at::equal(by("reflect"), at::tensor({3.0F, 2.0F, 1.0F, 2.0F, 3.0F, 2.0F, 1.0F})));
  EXPECT_TRUE(at::equal(by("edge"), at::tensor({1.0F, 1.0F, 1.0F, 2.0F, 3.0F, 3.0F, 3.0F})));
  EXPECT_TRUE(at::equal(by("wrap"), at::tensor({2.0F, 3.0F, 1.0F, 2.0F, 3.0F, 1.0F, 2.0F})));
  EXPECT_TRUE(at::equal(run_one("Pad", {x, ints({1, -1}), floats({9})}), at::tensor({9.0F, 1.0F, 2.0F})));
  EXPECT_EQ(reason_of([&] { by("mirror"); }), "mode must be constant, reflect, edge or wrap, not 'mirror'");
}

}  // namespace
}  // namespace quench
