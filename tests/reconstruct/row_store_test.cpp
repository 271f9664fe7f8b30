#include "reconstruct/row_store.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

at::Tensor numbers() { return at::arange(10 * 6, at::kFloat).reshape({10, 2, 3}); }

void expect_rows(RowStore& store) {
  const at::Tensor all = numbers();
  store.put(0, all.narrow(0, 0, 4));
  store.put(4, all.narrow(0, 4, 6));
  EXPECT_TRUE(store.get(2, 5).equal(all.narrow(0, 2, 5)));
  const at::Tensor rows = at::tensor({7, 0, 7}, at::kLong);
  EXPECT_TRUE(store.get(rows).equal(all.index_select(0, rows)));
}

TEST(RowStore, GivesBackWhatWasPutInMemoryAndInAFile) {
  RowPool memory({});
  expect_rows(*memory.make(10, numbers()));
  EXPECT_EQ(memory.most_in_memory(), 240);
  EXPECT_EQ(memory.most_in_files(), 0);
  RowPoolOptions none;
  none.max_memory = 1;
  RowPool files(none);
  expect_rows(*files.make(10, numbers()));
  EXPECT_EQ(files.most_in_memory(), 0);
  EXPECT_EQ(files.most_in_files(), 240);
}

TEST(RowStore, WhatIsFreedCanBeUsedAgain) {
  RowPoolOptions bounded;
  bounded.max_memory = 500;
  RowPool pool(bounded);
  auto first = pool.make(10, numbers()), second = pool.make(10, numbers()), third = pool.make(10, numbers());
  EXPECT_EQ(pool.most_in_memory(), 480);
  EXPECT_EQ(pool.most_in_files(), 240);
  first.reset();
  const auto fourth = pool.make(10, numbers());
  EXPECT_EQ(pool.most_in_memory(), 480);
  EXPECT_EQ(pool.most_in_files(), 240);
}

TEST(RowStore, HalfKeepsBfloat16AndIntegersAsTheyAre) {
  RowPoolOptions half;
  half.half = true;
  RowPool pool(half);
  const auto store = pool.make(10, numbers());
  store->put(0, numbers() + 0.001);
  EXPECT_EQ(store->get(0, 1).scalar_type(), at::kFloat);
  EXPECT_TRUE(store->get(0, 10).equal((numbers() + 0.001).to(at::kBFloat16).to(at::kFloat)));
  const auto tokens = pool.make(2, at::zeros({2, 3}, at::kLong));
  tokens->put(0, at::full({2, 3}, 123456789, at::kLong));
  EXPECT_TRUE(tokens->get(at::tensor({1}, at::kLong)).equal(at::full({1, 3}, 123456789, at::kLong)));
}

}  // namespace
}  // namespace quench
