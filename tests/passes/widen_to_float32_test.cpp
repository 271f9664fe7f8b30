#include "graph/tensor_types.h"
#include "passes/graphs.h"
#include "quench/error.h"
#include "support/describe.h"

namespace quench {
namespace {

Graph narrow_conv(const std::string& type) {
  Graph graph;
  const DType dtype = dtype_from_name(type);
  at::manual_seed(3);
  Value& x = graph.add_input("x", TypeInfo::tensor(dtype, {Dim::symbol("N"), 3, 5, 5}));
  Value& w = graph.add_constant("w", at::randn({4, 3, 3, 3}).to(scalar_type_of(dtype)));
  Value& b = graph.add_constant("b", at::randn({4}).to(scalar_type_of(dtype)));
  Node& conv = graph.add("Conv", "conv", {&x, &w, &b});
  graph.add_output(graph.add("Relu", "y", {&conv.output()}).output());
  infer_shapes(graph);
  return graph;
}

class NarrowTypes : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Widen, NarrowTypes, testing::Values("float16", "bfloat16"),
                         [](const auto& one) { return one.param; });

// Every output is a sum of 28 terms of about 1, which the narrow run rounds to 16 bits at least once; the widened one
// only at its end: a few units in the last place of values up to 16, 2^-10 (2^-7) relative.
TEST_P(NarrowTypes, ComputeInFloat32BetweenCasts) {
  Graph graph = narrow_conv(GetParam());
  const DType dtype = dtype_from_name(GetParam());
  const double ulp = dtype == DType::kFloat16 ? 0x1p-10 : 0x1p-7;
  const at::Tensor x = at::randn({2, 3, 5, 5}).to(scalar_type_of(dtype));
  EXPECT_EQ(run_pass(graph, "widen_to_float32", x, 4 * ulp), 4);  // two constants, the input, the output
  EXPECT_EQ(ops_of(graph), (Ops{"Cast", "Conv", "Relu", "Cast"}));
  EXPECT_EQ(graph.inputs()[0]->name(), "x");
  EXPECT_EQ(graph.inputs()[0]->dtype(), dtype);
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
  EXPECT_EQ(graph.outputs()[0]->dtype(), dtype);
  infer_shapes(graph);
  for (const auto& node : graph.nodes())
    if (node->op() != "Cast") EXPECT_EQ(node->output().dtype(), DType::kFloat) << node->where();
  EXPECT_EQ(run(graph, x).scalar_type(), scalar_type_of(dtype));
}

TEST(WidenToFloat32, LeavesAFloat32ModelAlone) {
  Graph graph = narrow_conv("float");
  const std::string before = to_text(graph);
  EXPECT_EQ(run_pass(graph, "widen_to_float32", at::randn({1, 3, 5, 5})), 0);
  EXPECT_EQ(to_text(graph), before);
}

// float32 in and out, float16 between: the Casts that were there become identities.
TEST(WidenToFloat32, TakesTheCastsOfAModelThatConvertsItself) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2}));
  Value& w = graph.add_constant("w", at::tensor({0.5F, 2.0F}).to(at::kHalf));
  Node& there = graph.add("Cast", "there", {&x});
  there.attrs["to"] = static_cast<std::int64_t>(DType::kFloat16);
  Node& back = graph.add("Cast", "y", {&graph.add("Mul", "m", {&there.output(), &w}).output()});
  back.attrs["to"] = static_cast<std::int64_t>(DType::kFloat);
  graph.add_output(back.output());
  EXPECT_EQ(run_pass(graph, "widen_to_float32", at::tensor({0.25F, 3.0F})), 2);
  run_passes(graph, {"infer_shapes", "eliminate_identity"});
  EXPECT_EQ(ops_of(graph), Ops{"Mul"});
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
}

// An output that other nodes read too, one that is listed twice, and an input that is an output.
TEST(WidenToFloat32, NarrowsEveryOutputOnce) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float16[2]
    %a = Relu "a" (%x) : float16[2]
    %b = Neg "b" (%a) : float16[2]
    output %a
    output %b
    output %a
    output %x
  })");
  const at::Tensor x = at::tensor({0.25F, 3.0F}).to(at::kHalf);
  EXPECT_EQ(run_pass(graph, "widen_to_float32", x), 3);
  EXPECT_EQ(ops_of(graph), (Ops{"Cast", "Relu", "Neg", "Cast", "Cast"}));
  std::string names;
  for (const Value* output : graph.outputs()) names += output->name() + " " + name_of(output->dtype()) + " ";
  EXPECT_EQ(names, "a float16 b float16 a float16 x float16 ");
  EXPECT_EQ(graph.outputs()[1]->producer()->input(0)->producer()->op(), "Neg");
}

TEST(WidenToFloat32, TakesBodiesAndAttributesThatNameAType) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat16, {2}));
  auto body = std::make_shared<Graph>();
  Value& inner = body->add_input("inner", TypeInfo::tensor(DType::kFloat16, {2}));
  Value& one = body->add_constant("one", at::ones({2}, at::kHalf));
  body->add_output(body->add("Add", "sum", {&inner, &one}).output());
  infer_shapes(*body);
  Value& condition = graph.add_constant("condition", at::ones({}, at::kBool));
  Node& branch = graph.add("If", "branch", {&condition, &x});
  branch.captures = 1;
  branch.attrs["then_branch"] = body;
  branch.attrs["else_branch"] = std::make_shared<Graph>(*body);
  Node& fill = graph.add("ConstantOfShape", "fill", {&graph.add_constant("shape", integer_tensor({2}))});
  fill.attrs["value"] = make_tensor_attr(at::full({1}, 0.5, at::kHalf));
  graph.add_output(graph.add("Add", "y", {&branch.output(), &fill.output()}).output());
  infer_shapes(graph);
  const at::Tensor x0 = at::tensor({0.25F, 3.0F}).to(at::kHalf);
  // two constants of bodies, the attribute, input and output
  EXPECT_EQ(run_pass(graph, "widen_to_float32", x0), 5);
  EXPECT_EQ(branch.require_graph("then_branch").outputs()[0]->dtype(), DType::kFloat);
  EXPECT_EQ(graph.find_node("fill")->require_tensor("value").dtype, DType::kFloat);
}

TEST(WidenToFloat32, RefusesWhatHasNoWiderForm) {
  Graph bits = parse_graph(R"(graph "g" {
    input %x : float16[2]
    %y = BitCast "y" (%x) {to = 5} : int16[2]
    output %y
  })");
  const auto widen = [](Graph& graph) { return message_of([&] { run_passes(graph, {"widen_to_float32"}); }); };
  EXPECT_NE(widen(bits).find("node 'y' (BitCast) reads the bits of 16-bit floats"), std::string::npos) << widen(bits);
  Graph list;
  list.add_input("x", TypeInfo::sequence(TypeInfo::tensor(DType::kFloat16)));
  EXPECT_NE(widen(list).find("'x' is seq(float16[*])"), std::string::npos) << widen(list);
}

}  // namespace
}  // namespace quench
