// What shape inference knows where numbers are given at run time, or only in part.
#include "ops/number_rules.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"
#include "quench/op.h"

namespace quench {
namespace {

const TypeInfo kData = TypeInfo::tensor(DType::kFloat, {2, 3, 4});

TypeInfo integers(std::int64_t count) { return TypeInfo::tensor(DType::kInt64, {count}); }

// The type of output 0 where the inputs after the first are these constants.
std::string inferred_with(const std::string& op, const TypeInfo& data, const std::vector<at::Tensor>& constants,
                          const Attrs& attrs = {}) {
  Graph graph;
  std::vector<Value*> inputs = {&graph.add_input("x", data)};
  for (const at::Tensor& constant : constants)
    inputs.push_back(constant.defined() ? &graph.add_constant("c" + std::to_string(inputs.size()), constant) : nullptr);
  Node& node = graph.add(op, "node", inputs);
  node.attrs = attrs;
  infer_shapes(graph);
  return node.output().type().text();
}

TEST(NumberRules, ARankFollowsFromHowManyNumbersThereAre) {
  const Attrs drops{{"keepdims", std::int64_t{0}}};
  EXPECT_EQ(inferred_type("ReduceSum", {kData, integers(2)}, drops), "float[?]");
  EXPECT_EQ(inferred_type("ReduceMax", {kData, integers(0)}, drops), "float[]");
  EXPECT_EQ(inferred_type("ReduceMean", {kData, integers(1)}), "float[?, ?, ?]");
  EXPECT_EQ(inferred_type("Squeeze", {kData, integers(1)}), "float[?, ?]");
  EXPECT_EQ(inferred_type("Unsqueeze", {kData, integers(2)}), "float[?, ?, ?, ?, ?]");
  EXPECT_EQ(inferred_type("Expand", {kData, integers(4)}), "float[?, ?, ?, ?]");
  EXPECT_EQ(inferred_type("Expand", {kData, integers(1)}), "float[?, ?, ?]");
  EXPECT_EQ(inferred_type("Reshape", {kData, integers(2)}), "float[?, ?]");
  EXPECT_EQ(inferred_type("ConstantOfShape", {integers(2)}), "float[?, ?]");
  EXPECT_EQ(inferred_type("AffineGrid", {kData, integers(4)}), "float[2, ?, ?, 2]");
  EXPECT_EQ(inferred_type("Col2Im", {kData, integers(2), integers(2)}), "float[2, ?, ?, ?]");
}

// A vector of a billion numbers is not a shape; nothing is inferred from its length.
TEST(NumberRules, LongVectorsAreData) {
  EXPECT_EQ(inferred_type("Reshape", {kData, integers(1'000'000'000)}), "float[*]");
}

TEST(NumberRules, ConstantNumbersOfAnyTypeAreRead) {
  EXPECT_EQ(inferred_with("OneHot", integers(3), {at::scalar_tensor(5.0F), at::tensor({0.0F, 1.0F})}), "float[3, 5]");
  EXPECT_EQ(inferred_with("Compress", kData, {at::tensor({1, 0, 1}).to(at::kBool)}, {{"axis", std::int64_t{1}}}),
            "float[2, 2, 4]");
  Graph graph;
  Value &from = graph.add_constant("from", at::scalar_tensor(1.0F)),
        &to = graph.add_constant("to", at::scalar_tensor(2.0F)),
        &by = graph.add_constant("by", at::scalar_tensor(0.3F));
  Node& range = graph.add("Range", "range", {&from, &to, &by});
  infer_shapes(graph);
  EXPECT_EQ(range.output().type().text(), "float[4]");
}

TEST(NumberRules, ResizeIsPlannedAsItWillRun) {
  const TypeInfo image = TypeInfo::tensor(DType::kFloat, {1, 1, 4, 2});
  const Attrs axes{{"axes", std::vector<std::int64_t>{2, 3}}};
  Attrs kept = axes, cropped = axes;
  kept["keep_aspect_ratio_policy"] = "not_larger";
  cropped["coordinate_transformation_mode"] = "tf_crop_and_resize";
  const at::Tensor none, sizes = at::tensor({6, 6}, at::kLong), region = at::tensor({0.0F, 0.0F, 0.5F, 1.0F});
  EXPECT_EQ(inferred_with("Resize", image, {none, none, sizes}, kept), "float[1, 1, 6, 3]");
  EXPECT_EQ(inferred_with("Resize", image, {region, at::tensor({3.0F, 3.0F})}, cropped), "float[1, 1, 6, 6]");
}

TEST(NumberRules, ElementsPassThroughNegAndSplitAndABranchThatIsKnown) {
  Graph graph;
  Value& x = graph.add_input("x", kData);
  Value& shape = graph.add("Shape", "shape", {&x}).output();
  Node& split = graph.add("Split", "split", {&shape}, 3);
  split.attrs["num_outputs"] = std::int64_t{3};
  Node& neg = graph.add("Neg", "neg", {split.outputs()[1]});
  Node& branch =
      graph.add("If", "if", {&graph.add_constant("yes", at::scalar_tensor(true, at::kBool)), split.outputs()[2]});
  branch.captures = 1;
  for (const char* name : {"then_branch", "else_branch"}) {
    auto body = std::make_shared<Graph>();
    Value& captured = body->add_input("captured");
    const bool is_then = std::string(name) == "then_branch";
    body->add_output(body->add(is_then ? "Identity" : "Shape", "y", {&captured}).output());
    branch.attrs[name] = body;
  }
  infer_shapes(graph);
  EXPECT_EQ(text_of(neg.output().contents.value()), "[-3]");
  EXPECT_EQ(text_of(branch.output().contents.value()), "[4]");
}

TEST(NumberRules, EllipsesOfEinsumStandForTheDimsBeforeAndBroadcast) {
  const TypeInfo one = TypeInfo::tensor(DType::kFloat, {5, 1, 3, 4}), two = TypeInfo::tensor(DType::kFloat, {7, 4, 6});
  const auto einsum = [](const char* equation, const std::vector<TypeInfo>& inputs) {
    return inferred_type("Einsum", inputs, {{"equation", equation}});
  };
  EXPECT_EQ(einsum("...ij,...jk->...ik", {one, two}), "float[5, 7, 3, 6]");
  EXPECT_EQ(einsum("...ij", {one}), "float[5, 1, 3, 4]");
  EXPECT_EQ(einsum("...ii->...i", {TypeInfo::tensor(DType::kFloat, {3, 5, 5})}), "float[3, 5]");
  EXPECT_EQ(einsum("...ij->...", {TypeInfo::tensor(DType::kFloat)}), "float[*]");
}

TEST(NumberRules, AttentionKnowsItsCache) {
  const auto data = [](Dims dims) { return TypeInfo::tensor(DType::kFloat, std::move(dims)); };
  Graph graph;
  Value &q = graph.add_input("q", data({2, 5, 12})), &k = graph.add_input("k", data({2, 5, 6})),
        &v = graph.add_input("v", data({2, 5, 8})), &past_k = graph.add_input("past_k", data({2, 2, 7, 3})),
        &past_v = graph.add_input("past_v", data({2, 2, 7, 4}));
  Node& node = graph.add("Attention", "node", {&q, &k, &v, nullptr, &past_k, &past_v}, 4);
  node.attrs = {{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}};
  infer_shapes(graph);
  EXPECT_EQ(node.output(0).type().text(), "float[2, 5, 16]");
  EXPECT_EQ(node.output(1).type().text(), "float[2, 2, 12, 3]");
  EXPECT_EQ(node.output(2).type().text(), "float[2, 2, 12, 4]");
  EXPECT_EQ(node.output(3).type().text(), "float[2, 4, 5, 12]");
}

}  // namespace
}  // namespace quench
