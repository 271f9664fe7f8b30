// What a node of an old opset computes, worked out here, against what the upgraded graph computes.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"
#include "quench/executor.h"
#include "quench/op.h"

namespace quench {
namespace {

void expect_close(const at::Tensor& found, const at::Tensor& expected) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(found, expected, 1e-5, 1e-6)) << found << "\nexpected\n" << expected;
}

std::vector<at::Tensor> run(OneNode& one, std::int64_t opset, const std::vector<at::Tensor>& inputs) {
  one.upgraded_from(opset);
  one.graph.verify();
  Executor executor(one.graph);
  std::vector<at::Tensor> results;
  for (const RtValue& value : executor.run(std::vector<RtValue>(inputs.begin(), inputs.end())))
    results.push_back(value.tensor());
  return results;
}

TEST(UpgradeSemantics, SoftmaxTakesAllThatFollowsTheAxis) {
  const at::Tensor x = at::randn({2, 3, 4});
  for (const std::int64_t axis : {0, 1, 2}) {
    const std::int64_t rows = axis == 0 ? 1 : axis == 1 ? 2 : 6;
    const at::Tensor expected = at::softmax(x.reshape({rows, -1}), 1).reshape({2, 3, 4});
    OneNode known("Softmax", {{2, 3, 4}}, {{"axis", integer(axis)}});
    expect_close(run(known, 11, {x})[0], expected);
    OneNode unknown("Softmax", {{"axis", integer(axis)}});
    expect_close(run(unknown, 11, {x})[0], expected);
  }
}

TEST(UpgradeSemantics, BatchNormPerElement) {
  const at::Tensor x = at::randn({4, 2, 3}), scale = at::randn({2, 3}), bias = at::randn({2, 3}),
                   mean = at::randn({2, 3}), var = at::rand({2, 3}) + 0.5;
  OneNode one("BatchNormalization", {{4, 2, 3}, {2, 3}, {2, 3}, {2, 3}, {2, 3}},
              {{"spatial", integer(0)}, {"epsilon", 0.01}});
  expect_close(run(one, 7, {x, scale, bias, mean, var})[0], (x - mean) / (var + 0.01).sqrt() * scale + bias);
}

TEST(UpgradeSemantics, GroupNormPerGroup) {
  const at::Tensor x = at::randn({2, 6, 5}), scale = at::randn({3}), bias = at::randn({3});
  OneNode one("GroupNormalization", {{2, 6, 5}, {3}, {3}}, {{"num_groups", integer(3)}, {"epsilon", 0.01}});
  const at::Tensor grouped = x.reshape({2, 3, 10});
  const at::Tensor normal =
      (grouped - grouped.mean(2, true)) / (grouped.var(at::IntArrayRef{2}, false, true) + 0.01).sqrt();
  const at::Tensor expected = (normal * scale.reshape({1, 3, 1}) + bias.reshape({1, 3, 1})).reshape({2, 6, 5});
  expect_close(run(one, 18, {x, scale, bias})[0], expected);
}

TEST(UpgradeSemantics, BroadcastAtAnAxis) {
  const at::Tensor a = at::randn({2, 3, 4, 5}), b = at::randn({3, 4});
  OneNode one("Add", {{2, 3, 4, 5}, {3, 4}}, {{"broadcast", integer(1)}, {"axis", integer(1)}});
  expect_close(run(one, 6, {a, b})[0], a + b.reshape({1, 3, 4, 1}));
}

TEST(UpgradeSemantics, PReluPerChannel) {
  const at::Tensor x = at::randn({2, 3, 4, 4}), slope = at::rand({3});
  OneNode one("PRelu", {{2, 3, 4, 4}, {3}}, {});
  expect_close(run(one, 6, {x, slope})[0], at::where(x < 0, x * slope.reshape({1, 3, 1, 1}), x));
}

TEST(UpgradeSemantics, UpsampleRepeatsAndInterpolatesFromTheCorner) {
  const at::Tensor x = at::randn({1, 1, 2, 3});
  OneNode nearest("Upsample", {{1, 1, 2, 3}}, {{"scales", Floats{1, 1, 2, 3}}, {"mode", std::string("nearest")}});
  expect_close(run(nearest, 7, {x})[0], x.repeat_interleave(2, 2).repeat_interleave(3, 3));
  const at::Tensor row = at::tensor({0.0F, 2.0F}).reshape({1, 1, 1, 2});
  OneNode linear("Upsample", {{1, 1, 1, 2}}, {{"scales", Floats{1, 1, 1, 2}}, {"mode", std::string("linear")}});
  expect_close(run(linear, 7, {row})[0], at::tensor({0.0F, 1.0F, 2.0F, 2.0F}).reshape({1, 1, 1, 4}));
}

TEST(UpgradeSemantics, AttributesAsInputsComputeTheSame) {
  const at::Tensor x = at::randn({2, 3, 4});
  OneNode slice("Slice", {{2, 3, 4}}, {{"starts", Ints{1, -2}}, {"ends", Ints{9, 9}}, {"axes", Ints{1, 2}}});
  expect_close(run(slice, 9, {x})[0], x.slice(1, 1).slice(2, 2));
  OneNode pad("Pad", {{2, 3, 4}}, {{"pads", Ints{0, 0, 1, 0, 0, 2}}, {"value", 7.0}});
  expect_close(run(pad, 10, {x})[0], at::constant_pad_nd(x, {1, 2}, 7.0));
  OneNode mean("ReduceMean", {{2, 3, 4}}, {{"axes", Ints{0, 2}}, {"keepdims", integer(0)}});
  expect_close(run(mean, 13, {x})[0], x.mean(at::IntArrayRef({0, 2})));
  OneNode split("Split", {{2, 3, 4}}, {{"axis", integer(2)}, {"split", Ints{1, 3}}}, 2);
  const auto parts = run(split, 11, {x});
  expect_close(parts[0], x.slice(2, 0, 1));
  expect_close(parts[1], x.slice(2, 1));
  OneNode halves("Split", {{2, 3, 4}}, {{"axis", integer(2)}}, 2);
  expect_close(run(halves, 13, {x})[1], x.slice(2, 2));
}

// state' = state + x, for each element of the batch; every state is given out.
TEST(UpgradeSemantics, ScanOfABatch) {
  auto body = std::make_shared<Graph>();
  Value& state = body->add_input("state", TypeInfo::tensor(DType::kFloat, {2}));
  Value& x = body->add_input("x", TypeInfo::tensor(DType::kFloat, {2}));
  Node& sum = body->add("Add", "sum", {&state, &x});
  Node& copy = body->add("Identity", "copy", {&sum.output()});
  body->add_output(sum.output());
  body->add_output(copy.output());
  OneNode one("Scan", {{4, 2}, {4, 3, 2}}, {{"body", body}, {"num_scan_inputs", std::int64_t{1}}}, 2);
  one.graph.set_inputs(*one.node, {nullptr, one.node->input(0), one.node->input(1)});
  const at::Tensor states = at::randn({4, 2}), xs = at::randn({4, 3, 2});
  const auto results = run(one, 8, {states, xs});
  expect_close(results[0], states + xs.sum(1));
  expect_close(results[1], states.unsqueeze(1) + xs.cumsum(1));
}

}  // namespace
}  // namespace quench
