#include <gtest/gtest.h>

#include <limits>

#include "ops/run_op.h"

namespace quench {
namespace {

TEST(Reduce, AgreesWithPlainSums) {
  const at::Tensor x = at::randn({3, 4, 5});
  EXPECT_TRUE(at::allclose(run_one("ReduceSum", {x, ints({-1, 0})}), x.sum(at::IntArrayRef({0, 2}), true)));
  EXPECT_TRUE(at::allclose(run_one("ReduceL2", {x, ints({1})}), x.square().sum(1, true).sqrt()));
  EXPECT_TRUE(at::allclose(run_one("ReduceLogSumExp", {x}), x.exp().sum().log().reshape({1, 1, 1})));
  EXPECT_TRUE(at::allclose(run_one("ReduceProd", {x, ints({0, 1})}, {{"keepdims", std::int64_t{0}}}),
                           x.reshape({12, 5}).prod(0)));
}

TEST(Reduce, NoAxesMeansAllUnlessAskedOtherwise) {
  const at::Tensor x = at::randn({2, 3});
  const Attrs noop = {{"noop_with_empty_axes", std::int64_t{1}}};
  EXPECT_EQ(run_one("ReduceMax", {x}).sizes(), at::IntArrayRef({1, 1}));
  EXPECT_TRUE(at::equal(run_one("ReduceMax", {x, ints({})}, noop), x));
  EXPECT_TRUE(at::equal(run_one("ReduceSumSquare", {x, ints({})}, noop), x.square()));
}

TEST(Reduce, OfNothingGivesTheNeutralElement) {
  const at::Tensor x = at::zeros({2, 0});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(at::equal(run_one("ReduceMax", {x, ints({1})}), at::full({2, 1}, -infinity)));
  EXPECT_TRUE(at::equal(run_one("ReduceMin", {x, ints({1})}), at::full({2, 1}, infinity)));
  EXPECT_TRUE(at::equal(run_one("ReduceSum", {x, ints({1})}), at::zeros({2, 1})));
  EXPECT_TRUE(at::equal(run_one("ReduceProd", {x, ints({1})}), at::ones({2, 1})));
}

TEST(Reduce, UnsignedTypesCompareWithoutSign) {
  const at::Tensor x = at::tensor(std::vector<std::int64_t>{-1, 3}, at::kLong).view(at::kUInt64);
  EXPECT_EQ(run_one("ReduceMax", {x}).view(at::kLong).item<std::int64_t>(), -1);  // 2^64 - 1
  EXPECT_EQ(run_one("ReduceMin", {x}).view(at::kLong).item<std::int64_t>(), 3);
}

TEST(Reduce, ArgMaxTakesTheFirstOrTheLastOfEquals) {
  const RtValue x = floats({1, 5, 5, 2});
  EXPECT_EQ(run_one("ArgMax", {x}).item<std::int64_t>(), 1);
  EXPECT_EQ(run_one("ArgMax", {x}, {{"select_last_index", std::int64_t{1}}}).item<std::int64_t>(), 2);
}

TEST(TopK, EqualElementsComeInOrder) {
  const auto result = run_op("TopK", {floats({3, 1, 3, 2, 3}), ints({3})}, {}, 2);
  EXPECT_TRUE(at::equal(result[0].tensor(), at::tensor({3.0F, 3.0F, 3.0F})));
  EXPECT_TRUE(at::equal(result[1].tensor(), at::tensor(std::vector<std::int64_t>{0, 2, 4}, at::kLong)));
  EXPECT_EQ(reason_of([] { run_op("TopK", {floats({1}), ints({2})}, {}, 2); }), "K is 2, but axis 0 has 1 elements");
}

}  // namespace
}  // namespace quench
