#include "platforms/plan/bodies.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/pass.h"
#include "quench/platform.h"

namespace quench {
namespace {

// x -> Gemm; If(flag) { Conv } else { Relu }: the Conv cannot be reached.
Graph with_if() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3, 4, 4}));
  Value& flag = graph.add_input("flag", TypeInfo::tensor(DType::kBool, Dims{}));
  const auto body = [](const char* op) {
    auto made = std::make_shared<Graph>();
    Value& from = made->add_input("from", TypeInfo::tensor(DType::kFloat, {2, 3, 4, 4}));
    std::vector<Value*> inputs = {&from};
    if (std::string(op) == "Conv") inputs.push_back(&made->add_constant("w", at::ones({3, 3, 1, 1})));
    made->add_output(made->add(op, "inner", inputs).output());
    return made;
  };
  Node& choice = graph.add("If", "choice", {&flag, &x});
  choice.captures = 1;
  choice.attrs["then_branch"] = GraphPtr(body("Conv"));
  choice.attrs["else_branch"] = GraphPtr(body("Relu"));
  graph.add_output(choice.output());
  return graph;
}

// Once a bug: layers inside If and Loop bodies were neither planned nor named.
TEST(LayersInBodies, AreListedInThePlan) {
  const Graph graph = with_if();
  const std::vector<PlanSkip> found = layers_in_bodies(graph);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].value, "choice/inner");
  EXPECT_EQ(found[0].reason, "in the body 'then_branch' of If 'choice': layers inside bodies are not quantized");
  QuantConfig config;
  config.platform = "onnxruntime";
  const QuantPlan plan = make_plan(graph, config);
  EXPECT_EQ(plan.skipped.back().value, "choice/inner");
  EXPECT_EQ(plan_from_yaml(to_yaml(plan)).skipped.back().reason, found[0].reason);
}

}  // namespace
}  // namespace quench
