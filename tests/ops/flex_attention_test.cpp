#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/checked_op.h"
#include "ops/run_op.h"

namespace quench {
namespace {

constexpr const char* kOp = "ai.onnx.preview.FlexAttention";

at::Tensor random(std::vector<std::int64_t> shape) { return at::randn(shape, at::kDouble); }

at::Tensor softmax_scores(const at::Tensor& q, const at::Tensor& k) {
  return at::softmax(at::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3))), -1);
}

// x -> op(x, captured)
GraphPtr body_with(const std::string& op) {
  auto body = std::make_shared<Graph>();
  Value &x = body->add_input("x"), &captured = body->add_input("captured");
  body->add_output(body->add(op, "y", {&x, &captured}).output());
  return body;
}

// Sums of few doubles: 1e-12 is thousands of roundings.
TEST(FlexAttention, WithoutBodiesIsAttention) {
  const at::Tensor q = random({2, 4, 5, 8}), k = random({2, 2, 6, 8}), v = random({2, 2, 6, 3});
  const at::Tensor expected = at::matmul(softmax_scores(q, k.repeat_interleave(2, 1)), v.repeat_interleave(2, 1));
  EXPECT_LT(distance(run_checked(kOp, {q, k, v}), expected), 1e-12);
  EXPECT_LT(gradient_error({kOp, {}}, {q, k, v}, 3), 1e-6);
}

TEST(FlexAttention, BodiesTakeCapturedValues) {
  const at::Tensor q = random({1, 2, 3, 4}), k = random({1, 2, 3, 4}), v = random({1, 2, 3, 4}), bias = random({3, 3});
  for (const bool on_scores : {true, false}) {
    Graph graph = one_node(kOp, {q, k, v, bias}, {{on_scores ? "score_mod" : "prob_mod", body_with("Add")}});
    graph.nodes().front()->captures = 1;
    EXPECT_EQ(inferred(graph).type().text(), "double[1, 2, 3, 4]");
    graph.verify();
    const at::Tensor y = Executor(graph).run({q, k, v, bias})[0].tensor();
    const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / 2.0;
    const at::Tensor p = on_scores ? at::softmax(scores + bias, -1) : at::softmax(scores, -1) + bias;
    EXPECT_LT(distance(y, at::matmul(p, v)), 1e-12);
  }
}

TEST(FlexAttention, HalvesMeetTheBodiesAsFloat) {
  const at::Tensor x = random({1, 1, 2, 4}).to(at::kHalf);
  Graph graph = one_node(kOp, {x, x, x, at::zeros({})}, {{"score_mod", body_with("Add")}});
  Node& node = *graph.nodes().front();
  node.captures = 1;
  EXPECT_EQ(inferred(graph).type().text(), "float16[1, 1, 2, 4]");
  EXPECT_EQ(node.require_graph("score_mod").inputs()[0]->type().text(), "float[1, 1, 2, 2]");
  EXPECT_EQ(Executor(graph).run({x, x, x, at::zeros({})})[0].dtype(), DType::kFloat16);
}

TEST(FlexAttention, RefusesWhatDoesNotFit) {
  const at::Tensor x = random({1, 2, 3, 4});
  EXPECT_NE(error_of({kOp, {}}, {x[0], x, x}).find("must have rank 4"), std::string::npos);
  EXPECT_NE(error_of({kOp, {}}, {random({1, 3, 3, 4}), x, x}).find("do not share 2 key heads"), std::string::npos);
  EXPECT_NE(error_of({kOp, {{"softmax_precision", std::int64_t{7}}}}, {x, x, x}).find("softmax_precision is int64"),
            std::string::npos);
  auto row = std::make_shared<Graph>();
  row->add_output(row->add("ReduceSum", "y", {&row->add_input("x")}).output());
  EXPECT_NE(error_of({kOp, {{"score_mod", GraphPtr(row)}}}, {x, x, x}).find("score_mod must give one tensor"),
            std::string::npos);
}

}  // namespace
}  // namespace quench
