#include "data/content.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"

namespace quench {
namespace {

std::vector<at::Tensor> numbers(std::int64_t count) {
  std::vector<at::Tensor> items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back(at::full({2}, static_cast<double>(i)));
  return items;
}

std::vector<double> held(const Dataset& data) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < data.size(); ++i) all.push_back(data.get(i).inputs.tensor()[0].item<double>());
  return all;
}

TEST(SampleOf, ChoosesTheSameItemsInTheSameOrderFromAnyOrder) {
  std::vector<at::Tensor> items = numbers(100);
  const std::vector<double> wanted = held(*sample_of(*dataset_of(items), 7));
  EXPECT_EQ(wanted.size(), 7U);
  std::reverse(items.begin(), items.end());
  const auto turned = dataset_of(items);
  EXPECT_EQ(held(*sample_of(*turned, 7)), wanted);
  EXPECT_NE(wanted, (std::vector<double>{0, 1, 2, 3, 4, 5, 6})) << "the first ones";
}

TEST(SampleOf, AllItemsWhereThereAreFewer) {
  const auto data = dataset_of(numbers(5));
  std::vector<double> all = held(*sample_of(*data, 7));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<double>{0, 1, 2, 3, 4}));
}

// A sample of a sample: stages may be given one.
TEST(SampleOf, OfASampleIsItsBeginning) {
  const auto data = dataset_of(numbers(50));
  const auto some = sample_of(*data, 20);
  EXPECT_EQ(held(*sample_of(*some, 6)), held(*sample_of(*data, 6)));
}

TEST(SampleOf, LeavesOutWhatCannotBeRead) {
  const auto data = dataset_of(6, [](std::int64_t index) -> Sample {
    QUENCH_CHECK(index % 2 == 0, "broken");
    return {at::full({1}, static_cast<double>(index))};
  });
  std::vector<double> read = held(*sample_of(*data, 6));
  std::sort(read.begin(), read.end());
  EXPECT_EQ(read, (std::vector<double>{0, 2, 4}));
}

class Fed : public Dataset {
 public:
  std::int64_t size() const override { return 9; }
  Sample get(std::int64_t index) const override { return {at::full({1}, static_cast<double>(index))}; }
  Task task() const override { return Task::kNone; }
  Feedback feedback() const override { return {{{"h", "h_next"}}, 0}; }
};

TEST(SampleOf, KeepsTheOrderOfASequence) {
  const Fed data;
  const auto some = sample_of(data, 3);
  EXPECT_EQ(held(*some), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(some->feedback().states.size(), 1U);
}

TEST(SampleOf, TakesLabelsAlong) {
  const auto data = dataset_of(numbers(5), {10, 11, 12, 13, 14});
  const auto some = sample_of(*data, 3);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 3; ++i) labels.push_back(some->get(i).label);
  EXPECT_EQ(some->labels(), labels);
}

TEST(SampleOf, NeedsACount) {
  const auto data = dataset_of(numbers(2));
  EXPECT_ERROR(sample_of(*data, 0), "a sample of 0 items is impossible");
}

TEST(ContentText, TellsTypesShapesAndNumbersApart) {
  const auto text = [](const at::Tensor& tensor) { return content_text({{"x", RtValue(tensor)}}); };
  EXPECT_EQ(text(at::ones({2, 3})), text(at::ones({2, 3})));
  EXPECT_NE(text(at::ones({2, 3})), text(at::ones({3, 2})));
  EXPECT_NE(text(at::zeros({2}, at::kInt)), text(at::zeros({2})));
  EXPECT_NE(text(at::zeros({2})), text(at::ones({2})));
}

}  // namespace
}  // namespace quench
