#include <gtest/gtest.h>

#include "ops/run_op.h"

namespace quench {
namespace {

const TypeInfo kScalar = TypeInfo::tensor(DType::kFloat, Dims{});

RtValue truth(bool value) { return RtValue(at::scalar_tensor(value, at::kBool)); }

// turn, cond, state, step -> cond, state + step, state: `step` is captured.
GraphPtr counting_body() {
  auto body = std::make_shared<Graph>();
  body->add_input("turn");
  Value& condition = body->add_input("cond");
  Value& state = body->add_input("state");
  Value& step = body->add_input("step");
  Value& next = body->add("Add", "next", {&state, &step}).output();
  body->add_output(body->add("Identity", "still", {&condition}).output());
  body->add_output(next);
  body->add_output(body->add("Identity", "seen", {&state}).output());
  return body;
}

Graph counting_loop(bool counted, bool conditional) {
  Graph graph;
  Value* count = counted ? &graph.add_input("count", TypeInfo::tensor(DType::kInt64, Dims{})) : nullptr;
  Value* condition = conditional ? &graph.add_input("cond", TypeInfo::tensor(DType::kBool, Dims{})) : nullptr;
  Value& state = graph.add_input("state", kScalar);
  Value& step = graph.add_input("step", kScalar);
  Node& loop = graph.add("Loop", "loop", {count, condition, &state, &step}, 2);
  loop.captures = 1;
  loop.attrs["body"] = counting_body();
  for (Value* output : loop.outputs()) graph.add_output(*output);
  infer_shapes(graph);
  graph.verify();
  return graph;
}

TEST(Loop, CarriesStatesAndStacksResults) {
  const Graph graph = counting_loop(true, false);
  EXPECT_EQ(graph.outputs()[0]->type().text(), "float[]");
  EXPECT_EQ(graph.outputs()[1]->type().text(), "float[?]");
  Executor executor(graph);
  const RtValue zero = at::scalar_tensor(0.0F), two = at::scalar_tensor(2.0F);
  const auto results = executor.run({RtValue(at::scalar_tensor(3, at::kLong)), zero, two});
  EXPECT_EQ(results[0].tensor().item<float>(), 6.0F);
  EXPECT_TRUE(at::equal(results[1].tensor(), at::tensor({0.0F, 2.0F, 4.0F})));
}

TEST(Loop, OfNoTurnsGivesTheInitialStateAndAnEmptyResult) {
  const Graph graph = counting_loop(false, true);
  Executor executor(graph);
  const auto results = executor.run({truth(false), at::scalar_tensor(5.0F), at::scalar_tensor(1.0F)});
  EXPECT_EQ(results[0].tensor().item<float>(), 5.0F);
  EXPECT_EQ(results[1].tensor().numel(), 0);
}

TEST(Loop, GradientsFlowThroughEveryTurn) {
  const Graph graph = counting_loop(true, false);
  ExecOptions options;
  options.grad = true;
  Executor executor(graph, options);
  const at::Tensor step = at::scalar_tensor(2.0F).requires_grad_();
  executor.run({RtValue(at::scalar_tensor(4, at::kLong)), at::scalar_tensor(0.0F), step})[0].tensor().backward();
  EXPECT_EQ(step.grad().item<float>(), 4.0F);
}

TEST(Loop, AStateThatGrowsHasAnUnknownDim) {
  Graph graph;
  Value& count = graph.add_input("count", TypeInfo::tensor(DType::kInt64, Dims{}));
  Value& state = graph.add_input("state", TypeInfo::tensor(DType::kFloat, {1, 4}));
  auto body = std::make_shared<Graph>();
  body->add_input("turn");
  Value& condition = body->add_input("cond");
  Value& inside = body->add_input("state");
  Node& grown = body->add("Concat", "grown", {&inside, &inside});
  grown.attrs["axis"] = std::int64_t{0};
  body->add_output(body->add("Identity", "still", {&condition}).output());
  body->add_output(grown.output());
  Node& loop = graph.add("Loop", "loop", {&count, nullptr, &state});
  loop.attrs["body"] = body;
  graph.add_output(loop.output());
  infer_shapes(graph);
  EXPECT_EQ(loop.output().type().text(), "float[?, 4]");
  Executor executor(graph);
  EXPECT_EQ(executor.run({RtValue(at::scalar_tensor(3, at::kLong)), at::ones({1, 4})})[0].tensor().size(0), 8);
}

// A state that begins as an empty sequence has elements of the type that the body puts in.
TEST(Loop, FillsAnEmptySequence) {
  Graph graph;
  Value& count = graph.add_input("count", TypeInfo::tensor(DType::kInt64, Dims{}));
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}));
  Value& none = graph.add("SequenceEmpty", "none", {}).output();
  for (const bool inserts : {true, false}) {
    auto body = std::make_shared<Graph>();
    body->add_input("turn");
    Value &condition = body->add_input("cond"), &state = body->add_input("state"), &inside = body->add_input("x");
    body->add_output(body->add("Identity", "still", {&condition}).output());
    Node& next =
        inserts ? body->add("SequenceInsert", "next", {&state, &inside}) : body->add("Identity", "next", {&state});
    body->add_output(next.output());
    Node& loop = graph.add("Loop", inserts ? "filled" : "kept", {&count, nullptr, &none, &x});
    loop.captures = 1;
    loop.attrs["body"] = body;
    graph.add_output(loop.output());
  }
  infer_shapes(graph);
  EXPECT_EQ(graph.outputs()[0]->type().text(), "seq(float[2, 3])");
  EXPECT_EQ(graph.outputs()[1]->type().text(), "seq(float[*])");
  Executor executor(graph);
  const auto results = executor.run({RtValue(at::scalar_tensor(2, at::kLong)), at::ones({2, 3})});
  EXPECT_EQ(results[0].elements().size(), 2U);
  EXPECT_EQ(results[1].elements().size(), 0U);
}

// test_loop16_seq_none of ONNX: absent before the first turn, a sequence after each.
TEST(Loop, MayBeginWithAnAbsentSequence) {
  const TypeInfo sequence = TypeInfo::sequence(TypeInfo::tensor(DType::kFloat, {2}));
  Graph graph;
  Value& count = graph.add_input("count", TypeInfo::tensor(DType::kInt64, Dims{}));
  Value& state = graph.add_input("state", TypeInfo::optional(sequence));
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2}));
  auto body = std::make_shared<Graph>();
  body->add_input("turn");
  Value& condition = body->add_input("cond");
  body->add_input("state");
  Value& inside = body->add_input("x");
  body->add_output(body->add("Identity", "still", {&condition}).output());
  body->add_output(body->add("SequenceConstruct", "next", {&inside}).output());
  Node& loop = graph.add("Loop", "loop", {&count, nullptr, &state, &x});
  loop.captures = 1;
  loop.attrs["body"] = body;
  graph.add_output(loop.output());
  infer_shapes(graph);
  EXPECT_EQ(loop.output().type().text(), "optional(seq(float[2]))");
  Executor executor(graph);
  const auto run = [&](std::int64_t turns) {
    return executor.run({RtValue(at::scalar_tensor(turns, at::kLong)), RtValue(), at::ones({2})})[0];
  };
  EXPECT_TRUE(run(0).is_none());
  EXPECT_EQ(run(3).elements().size(), 1U);
}

TEST(If, RunsOneBranchOnTheCapturedValue) {
  Graph graph;
  Value& condition = graph.add_input("cond", TypeInfo::tensor(DType::kBool, Dims{}));
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}));
  Node& node = graph.add("If", "if", {&condition, &x});
  node.captures = 1;
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto body = std::make_shared<Graph>();
    Value& inside = body->add_input("x");
    const bool is_then = std::string(branch) == "then_branch";
    body->add_output(body->add(is_then ? "Neg" : "Transpose", "y", {&inside}).output());
    node.attrs[branch] = body;
  }
  graph.add_output(node.output());
  infer_shapes(graph);
  EXPECT_EQ(node.output().type().text(), "float[?, ?]");
  Executor executor(graph);
  const at::Tensor given = at::randn({2, 3});
  EXPECT_TRUE(at::equal(executor.run({truth(true), given})[0].tensor(), given.neg()));
  EXPECT_TRUE(at::equal(executor.run({truth(false), given})[0].tensor(), given.t()));
}

TEST(Scan, RunsBackwardsAlongAnotherAxis) {
  Graph graph;
  Value& state = graph.add_input("state", TypeInfo::tensor(DType::kFloat, {2}));
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}));
  Node& node = graph.add("Scan", "scan", {&state, &x}, 2);
  auto body = std::make_shared<Graph>();
  Value& sum = body->add("Add", "sum", {&body->add_input("s"), &body->add_input("slice")}).output();
  body->add_output(sum);
  body->add_output(body->add("Identity", "seen", {&sum}).output());
  node.attrs["body"] = body;
  node.attrs["num_scan_inputs"] = std::int64_t{1};
  node.attrs["scan_input_axes"] = std::vector<std::int64_t>{1};
  node.attrs["scan_input_directions"] = std::vector<std::int64_t>{1};
  node.attrs["scan_output_axes"] = std::vector<std::int64_t>{1};
  for (Value* output : node.outputs()) graph.add_output(*output);
  infer_shapes(graph);
  EXPECT_EQ(node.output(1).type().text(), "float[2, 3]");
  Executor executor(graph);
  const at::Tensor given = at::arange(6.0F).reshape({2, 3});
  const auto results = executor.run({at::zeros({2}), given});
  EXPECT_TRUE(at::equal(results[0].tensor(), given.sum(1)));
  EXPECT_TRUE(at::equal(results[1].tensor(), given.flip({1}).cumsum(1)));
}

}  // namespace
}  // namespace quench
