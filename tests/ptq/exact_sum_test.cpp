#include "ptq/exact_sum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/describe.h"

namespace quench {
namespace {

// Rows whose sizes span 2^-60 to 2^60, so that bins are dropped on the way.
at::Tensor rows_of_many_sizes() {
  at::manual_seed(5);
  return at::randn({300, 7, 99}) * at::pow(2, at::randint(-60, 60, {300, 1, 1}));
}

at::Tensor sum_by(const at::Tensor& rows, std::int64_t batch) {
  ExactSum sum;
  for (const at::Tensor& part : rows.split(batch)) sum.add(part);
  EXPECT_EQ(sum.rows(), static_cast<double>(rows.size(0)));
  return sum.total();
}

TEST(ExactSum, IsTheSameInAnyOrderAndAnyCut) {
  const at::Tensor rows = rows_of_many_sizes(), wanted = sum_by(rows, 300);
  for (const std::int64_t batch : {1, 7, 32, 33, 64}) EXPECT_TRUE(at::equal(sum_by(rows, batch), wanted)) << batch;
  EXPECT_TRUE(at::equal(sum_by(rows.flip(0), 7), wanted));
  EXPECT_TRUE(at::equal(sum_by(std::get<0>(rows.sort(0)), 1), wanted));  // each position in an order of its own
}

// Rows that lie in another order than their indices say, all or some of them.
TEST(ExactSum, IsTheSameInAnyLayout) {
  const at::Tensor rows = rows_of_many_sizes().reshape({300, 7, 9, 11}), wanted = sum_by(rows, 300);
  const at::Tensor last = rows.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::equal(sum_by(last, 32), wanted));
  EXPECT_TRUE(at::equal(sum_by(rows.to(at::kDouble), 32), wanted));
  EXPECT_TRUE(at::equal(sum_by(rows.transpose(0, 3).contiguous().transpose(0, 3), 32), wanted));  // rows not whole
  ExactSum mixed;
  mixed.add(last.narrow(0, 0, 100));
  mixed.add(rows.narrow(0, 100, 1));
  mixed.add(rows.narrow(0, 101, 199));
  EXPECT_TRUE(at::equal(mixed.total(), wanted));
}

// Of numbers of about one size the sum is exact, so that it equals that of doubles; else what is dropped is below
// 2^-25 of the largest, number by number.
TEST(ExactSum, IsTheSum) {
  at::manual_seed(6);
  const at::Tensor codes = at::randint(-1000000, 1000000, {500, 64}).to(at::kFloat) / 1024;
  EXPECT_TRUE(at::equal(sum_by(codes, 32), codes.to(at::kDouble).sum(0)));
  const at::Tensor rows = rows_of_many_sizes();
  const double bound = rows.abs().max().item<double>() * 0x1p-25 * 300;
  EXPECT_LT((sum_by(rows, 32) - rows.to(at::kDouble).sum(0)).abs().max().item<double>(), bound);
}

TEST(ExactSum, TheLargestAndTheSmallestNumbers) {
  for (const float x : {3e38F, 1e-37F, 1e-44F, 0.0F, 1.0F, -33554432.0F}) {
    ExactSum sum;
    sum.add(at::full({4, 1}, x));
    EXPECT_NEAR(sum.mean().item<double>(), x, std::abs(x) * 0x1p-24 + 0x1p-100) << x;
  }
}

TEST(ExactSum, SharesTakeCopiesOutAgain) {
  at::manual_seed(7);
  const at::Tensor rows = at::randn({5, 11});
  ExactSum sum, wanted;
  wanted.add(rows);
  sum.add(at::cat({rows, rows.slice(0, 4).repeat({3, 1})}));
  sum.add(rows.slice(0, 4).repeat({8, 1}), {.times = -3, .of = 8});
  EXPECT_TRUE(at::equal(sum.total(), wanted.total()));
  EXPECT_EQ(sum.rows(), 5.0);
}

TEST(ExactSum, RefusesWhatHasNoSum) {
  for (const float x : {INFINITY, -INFINITY, NAN}) {
    at::Tensor rows = at::ones({3, 2000});
    rows[1][1999] = x;
    ExactSum sum;
    EXPECT_NE(message_of([&] { sum.add(rows); }).find("not finite"), std::string::npos) << x;
  }
  ExactSum sum;
  sum.add(at::ones({2, 3}));
  EXPECT_FALSE(sum.has_rows_of(at::ones({2, 2})));
  EXPECT_NE(message_of([&] { sum.add(at::ones({2, 2})); }).find("not of one size"), std::string::npos);
}

}  // namespace
}  // namespace quench
