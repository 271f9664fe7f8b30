#include <gtest/gtest.h>

#include "ops/run_op.h"

namespace quench {
namespace {

TEST(Create, RangeCountsBothWays) {
  const auto number = [](std::int64_t value) { return RtValue(at::scalar_tensor(value, at::kInt)); };
  EXPECT_TRUE(at::equal(run_one("Range", {number(10), number(4), number(-2)}), at::tensor({10, 8, 6})));
  EXPECT_EQ(run_one("Range", {number(4), number(4), number(1)}).numel(), 0);
  const auto real = [](float value) { return RtValue(at::scalar_tensor(value)); };
  EXPECT_TRUE(at::allclose(run_one("Range", {real(1), real(2), real(0.5F)}), at::tensor({1.0F, 1.5F})));
}

TEST(Create, RangeOfTheWholeOfInt64DoesNotOverflow) {
  constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX, kStep = std::int64_t{1} << 62;
  const auto number = [](std::int64_t value) { return RtValue(at::scalar_tensor(value, at::kLong)); };
  const auto longs = [](const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); };
  const auto check = [&](std::int64_t start, std::int64_t limit, std::int64_t delta, const at::Tensor& wanted) {
    EXPECT_TRUE(at::equal(run_one("Range", {number(start), number(limit), number(delta)}), wanted));
    Graph graph;
    std::vector<Value*> values;
    for (const std::int64_t value : {start, limit, delta})
      values.push_back(&graph.add_constant("c" + std::to_string(values.size()), at::scalar_tensor(value, at::kLong)));
    Node& node = graph.add("Range", "range", values);
    infer_shapes(graph);
    EXPECT_EQ(node.output().type().text(), "int64[" + std::to_string(wanted.numel()) + "]");
  };
  check(kLeast, kMost, kStep, longs({kLeast, kLeast + kStep, 0, kStep}));
  check(kLeast, kMost, kMost, longs({kLeast, -1, kMost - 1}));
  check(kMost, kLeast, kLeast, longs({kMost, -1}));
  check(kMost, kLeast, kMost, longs({}));
  EXPECT_EQ(reason_of([&] { run_one("Range", {number(kLeast), number(kMost), number(1)}); }),
            "from -9223372036854775808 to 9223372036854775807 by 1 are too many numbers");
}

TEST(Create, OneHotOfAnIndexOutOfRangeIsOff) {
  const at::Tensor result = run_one("OneHot", {ints({1, -1, 7}), ints({3}), floats({0, 9})});
  EXPECT_TRUE(at::equal(result, at::tensor({0.0F, 9.0F, 0.0F, 0.0F, 0.0F, 9.0F, 0.0F, 0.0F, 0.0F}).reshape({3, 3})));
}

TEST(Create, ConstantOfShapeTakesItsDimsFromShapeArithmetic) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 7}));
  Value& shape = graph.add("Shape", "shape", {&x}).output();
  Node& node = graph.add("ConstantOfShape", "full", {&shape});
  node.attrs["value"] = make_tensor_attr(at::tensor(std::vector<std::int64_t>{5}, at::kLong));
  graph.add_output(node.output());
  infer_shapes(graph);
  EXPECT_EQ(node.output().type().text(), "int64[N, 7]");
  Executor executor(graph);
  EXPECT_TRUE(at::equal(executor.run({at::zeros({2, 7})})[0].tensor(), at::full({2, 7}, 5, at::kLong)));
}

TEST(Select, UniqueKeepsTheOrderOfFirstOccurrenceWhenAsked) {
  const auto sorted = run_op("Unique", {floats({2, 1, 1, 3, 4, 3})}, {}, 4);
  const auto first = run_op("Unique", {floats({2, 1, 1, 3, 4, 3})}, {{"sorted", std::int64_t{0}}}, 4);
  EXPECT_TRUE(at::equal(sorted[0].tensor(), at::tensor({1.0F, 2.0F, 3.0F, 4.0F})));
  EXPECT_TRUE(at::equal(first[0].tensor(), at::tensor({2.0F, 1.0F, 3.0F, 4.0F})));
  EXPECT_TRUE(at::equal(first[1].tensor(), ints({0, 1, 3, 4}).tensor()));
  EXPECT_TRUE(at::equal(first[2].tensor(), ints({0, 1, 1, 2, 3, 2}).tensor()));
  EXPECT_TRUE(at::equal(first[3].tensor(), ints({1, 2, 2, 1}).tensor()));
}

TEST(Random, SameSeedSameNumbers) {
  Graph graph;
  Node& node = graph.add("RandomNormal", "noise", {});
  node.attrs["shape"] = std::vector<std::int64_t>{4, 5};
  graph.add_output(node.output());
  ExecOptions options;
  options.seed = 7;
  Executor first(graph, options), second(graph, options);
  const at::Tensor a = first.run(std::vector<RtValue>())[0].tensor();
  EXPECT_TRUE(at::equal(a, second.run(std::vector<RtValue>())[0].tensor()));
  EXPECT_FALSE(at::equal(a, first.run(std::vector<RtValue>())[0].tensor())) << "the stream goes on";
  options.seed = 8;
  Executor other(graph, options);
  EXPECT_FALSE(at::equal(a, other.run(std::vector<RtValue>())[0].tensor()));
}

TEST(Detection, SuppressesTheWorseOfTwoOverlappingBoxes) {
  const RtValue boxes = floats({0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11}, {1, 3, 4});
  const RtValue scores = floats({0.9F, 0.75F, 0.6F}, {1, 1, 3});
  const at::Tensor kept = run_one("NonMaxSuppression", {boxes, scores, ints({3}), floats({0.5F}), floats({0})});
  EXPECT_TRUE(at::equal(kept, at::tensor(std::vector<std::int64_t>{0, 0, 0, 0, 0, 2}, at::kLong).reshape({2, 3})));
}

TEST(Sequence, InsertsErasesAndJoins) {
  const auto sequence = run_op("SequenceConstruct", {floats({1}), floats({2})})[0];
  const auto longer = run_op("SequenceInsert", {sequence, floats({3}), ints({-2})})[0];
  EXPECT_EQ(longer.elements()[0].tensor().item<float>(), 3.0F);
  const auto shorter = run_op("SequenceErase", {longer})[0];
  EXPECT_EQ(shorter.elements().size(), 2U);
  EXPECT_TRUE(
      at::equal(run_one("ConcatFromSequence", {shorter}, {{"axis", std::int64_t{0}}}), at::tensor({3.0F, 1.0F})));
  EXPECT_EQ(reason_of([&] { run_op("SequenceAt", {sequence, ints({2})}); }),
            "position 2 is out of range for a sequence of 2");
}

TEST(Operators, ANumberThatIsNoneIsAnErrorOfTheModel) {
  const RtValue none = ints({}), sequence = run_op("SequenceConstruct", {floats({1})})[0];
  const std::string message = "input 1 must have one element, it has 0";
  EXPECT_EQ(reason_of([&] { run_op("SequenceAt", {sequence, none}); }), message);
  EXPECT_EQ(reason_of([&] { run_op("Trilu", {floats({1}, {1, 1}), none}); }), message);
  EXPECT_EQ(reason_of([&] { run_op("DFT", {floats({1, 2}, {1, 2, 1}), none}); }), message);
  EXPECT_EQ(
      reason_of([&] { run_op("NonMaxSuppression", {floats({0, 0, 1, 1}, {1, 1, 4}), floats({1}, {1, 1, 1}), none}); }),
      "input 2 must have one element, it has 0");
}

TEST(Operators, ANodeThatLacksAnInputIsAnErrorNotACrash) {
  EXPECT_EQ(reason_of([] { run_one("Gather", {floats({1})}); }), "expected a tensor, found nothing");
  EXPECT_EQ(reason_of([] { run_one("Add", {floats({1})}); }), "expected a tensor, found nothing");
}

}  // namespace
}  // namespace quench
