#include "data/top_classes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace quench {
namespace {

// Once a bug: tied logits were broken in no fixed order.
TEST(TopClasses, TheLowestOfEqualOnesComesFirst) {
  const auto ranked = top_classes(at::tensor({1.0F, 3.0F, 3.0F, 0.0F, 3.0F, 2.0F}).view({1, 6}), 4);
  ASSERT_EQ(ranked.size(), 1U);
  std::vector<std::int64_t> order;
  for (const RankedClass& one : ranked[0]) order.push_back(one.index);
  EXPECT_EQ(order, (std::vector<std::int64_t>{1, 2, 4, 5}));
  EXPECT_EQ(ranked[0][3].logit, 2.0F);
  EXPECT_EQ(top_classes(at::zeros({1, 1000}), 5)[0][4].index, 4);
  EXPECT_EQ(top_class(at::zeros({2, 3, 50})).sum().item<std::int64_t>(), 0);
}

TEST(TopClasses, AgreesWithAStableSort) {
  const at::Tensor logits = at::randint(0, 20, {50, 100}, at::kInt).to(at::kFloat);
  const auto sorted = std::get<1>(logits.sort(/*stable=*/true, 1, /*descending=*/true));
  const auto ranked = top_classes(logits, 5);
  for (std::int64_t row = 0; row < 50; ++row)
    for (std::int64_t k = 0; k < 5; ++k)
      EXPECT_EQ(ranked[static_cast<std::size_t>(row)][static_cast<std::size_t>(k)].index,
                sorted[row][k].item<std::int64_t>());
  EXPECT_TRUE(top_class(logits).equal(sorted.select(1, 0)));
}

TEST(TopClasses, NanIsSeen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(top_classes(at::tensor({1.0F, nan, 2.0F}).view({1, 3}), 1)[0][0].index, 1);
}

}  // namespace
}  // namespace quench
