#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/files.h"
#include "quench/data.h"

namespace quench {
namespace {

TEST(DatasetOf, TakesAVectorOfTensors) {
  const std::vector<at::Tensor> images = {at::zeros({3, 4, 4}), at::ones({3, 4, 4})};
  const auto plain = dataset_of(images);
  EXPECT_EQ(plain->size(), 2);
  EXPECT_EQ(plain->task(), Task::kNone);
  EXPECT_TRUE(plain->get(1).inputs.tensor().equal(images[1]));
  EXPECT_EQ(plain->get(1).name, "1");
  const auto labelled = dataset_of(images, {7, 3});
  EXPECT_EQ(labelled->task(), Task::kClassify);
  EXPECT_EQ(labelled->get(0).label, 7);
  EXPECT_CONTAINS(message_of([&] { dataset_of(images, {1}); }), "there are 2 items, but 1 labels");
}

TEST(DatasetOf, TakesAFunction) {
  const auto data = dataset_of(3, [](std::int64_t i) -> Sample { return {at::full({2}, i), i, "item"}; });
  Loader loader(*data, {.batch_size = 2});
  EXPECT_TRUE(loader.next()->inputs.tensor().equal(at::tensor({0, 0, 1, 1}, at::kLong).view({2, 2})));
  EXPECT_EQ(data->get(2).name, "item");
  EXPECT_CONTAINS(message_of([&] { data->get(3); }), "there is no item 3 among 3");
  EXPECT_CONTAINS(message_of([] { dataset_of(1, nullptr); }), "the function that gives the items is empty");
}

}  // namespace
}  // namespace quench
