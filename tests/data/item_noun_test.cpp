#include "data/item_noun.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/error.h"

namespace quench {
namespace {

std::string noun_of(const at::Tensor& item, Task task = Task::kNone) {
  return item_noun(*dataset_of(1, [item](std::int64_t) { return Sample{item}; }, task));
}

TEST(ItemNoun, IsWhatTheItemsAre) {
  EXPECT_EQ(noun_of(at::zeros({3, 8, 8})), "image");
  EXPECT_EQ(noun_of(at::zeros({1, 28, 28})), "image");
  EXPECT_EQ(noun_of(at::zeros({2, 8, 8})), "item");
  EXPECT_EQ(noun_of(at::zeros({3, 8, 8}, at::kLong)), "item");
  EXPECT_EQ(noun_of(at::zeros({16})), "item");
  EXPECT_EQ(noun_of(at::zeros({16}, at::kLong), Task::kNextToken), "text");
}

TEST(ItemNoun, LooksBehindABrokenItem) {
  const auto data = dataset_of(3, [](std::int64_t index) {
    QUENCH_CHECK(index > 0, "broken");
    return Sample{at::zeros({3, 8, 8})};
  });
  EXPECT_EQ(item_noun(*data), "image");
  EXPECT_EQ(item_noun(*dataset_of(std::vector<at::Tensor>{})), "item");
}

}  // namespace
}  // namespace quench
