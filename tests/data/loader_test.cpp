#include <ATen/ATen.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <type_traits>

#include "core/philox.h"
#include "data/files.h"
#include "quench/data.h"

namespace quench {
namespace {

// Items of one number each; later items are quicker, so that threads finish out of order.
class Numbers : public Dataset {
 public:
  explicit Numbers(std::int64_t size, std::set<std::int64_t> broken = {}) : size_(size), broken_(std::move(broken)) {}
  std::int64_t size() const override { return size_; }
  Task task() const override { return Task::kClassify; }
  Sample get(std::int64_t index) const override {
    ++asked_;
    std::this_thread::sleep_for(std::chrono::microseconds(size_ > 100 ? 100 : 50 * (size_ - index)));
    QUENCH_CHECK(!broken_.contains(index), "number ", index, " is broken");
    return {at::full({2}, index, at::kLong), index * 10, "n" + std::to_string(index)};
  }
  int asked() const { return asked_; }

 private:
  std::int64_t size_;
  std::set<std::int64_t> broken_;
  mutable std::atomic<int> asked_ = 0;
};

// As the executor: it keeps a reference.
static_assert(std::is_constructible_v<Loader, const Dataset&, LoadOptions>);
static_assert(std::is_constructible_v<Loader, Numbers&, LoadOptions>);
static_assert(!std::is_constructible_v<Loader, Numbers, LoadOptions>);
static_assert(!std::is_constructible_v<Loader, const Numbers, LoadOptions>);

std::vector<std::int64_t> indices_of(Loader& loader) {
  std::vector<std::int64_t> all;
  while (const auto batch = loader.next()) all.insert(all.end(), batch->indices.begin(), batch->indices.end());
  return all;
}

TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kAll = 0xFFFFFFFF;
  EXPECT_EQ(philox({kAll, kAll, kAll, kAll}, {kAll, kAll}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

// All parts together see the batches that one process would.
TEST(LoadingOrder, PartsTakeTurnsByBatches) {
  LoadOptions options;
  options.batch_size = 3;
  options.parts = 2;
  EXPECT_EQ(loading_order(11, options), (std::vector<std::int64_t>{0, 1, 2, 6, 7, 8}));
  options.part = 1;
  EXPECT_EQ(loading_order(11, options), (std::vector<std::int64_t>{3, 4, 5, 9, 10}));
  EXPECT_EQ(loading_order(2, options), std::vector<std::int64_t>());
  options.drop_last = true;  // not even a full batch that the other one has no counterpart of
  EXPECT_EQ(loading_order(11, options), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(loading_order(12, options), (std::vector<std::int64_t>{3, 4, 5, 9, 10, 11}));
  options.drop_last = false;
  options.shuffle = true;
  options.seed = 7;
  options.offset = 1;  // of 4 5 8 6 1 2 3 7 0 9
  EXPECT_EQ(loading_order(10, options), (std::vector<std::int64_t>{1, 2, 3}));
  options.part = 2;
  EXPECT_CONTAINS(message_of([&] { loading_order(10, options); }), "there is no part 2 of 2");
}

TEST(Loader, APartHasItsIndicesInTheWholeSet) {
  const Numbers numbers(11, {4});
  LoadOptions options;
  options.batch_size = 3;
  options.part = 1;
  options.parts = 2;
  options.skip_broken = true;
  Loader loader(numbers, options);
  EXPECT_EQ(loader.size(), 5);
  EXPECT_EQ(indices_of(loader), (std::vector<std::int64_t>{3, 5, 9, 10}));
}

TEST(LoadingOrder, IsDecidedByTheSeedAlone) {
  LoadOptions options;
  options.shuffle = true;
  options.seed = 7;
  const auto order = loading_order(10, options);
  EXPECT_EQ(order, (std::vector<std::int64_t>{4, 5, 8, 6, 1, 2, 3, 7, 0, 9}));
  EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), 10U);
  options.offset = 4;
  EXPECT_EQ(loading_order(10, options), std::vector<std::int64_t>(order.begin() + 4, order.end()));
  options.offset = 11;
  EXPECT_CONTAINS(message_of([&] { loading_order(10, options); }), "begin with item 11 of 10");
}

TEST(LoadingOrder, PutsEveryItemAnywhereEquallyOften) {
  LoadOptions options;
  options.shuffle = true;
  std::vector<int> first(5);
  for (options.seed = 0; options.seed < 5000; ++options.seed) {
    ++first[static_cast<std::size_t>(loading_order(5, options)[0])];
  }
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(Loader, GivesTheSameBatchesWithAnyNumberOfThreads) {
  const Numbers numbers(23);
  for (const int workers : {0, 1, 2, 5}) {
    LoadOptions options;
    options.batch_size = 4;
    options.workers = workers;
    Loader loader(numbers, options);
    EXPECT_EQ(loader.size(), 23);
    for (int i = 0; i < 6; ++i) {
      const auto batch = loader.next();
      ASSERT_TRUE(batch.has_value());
      const std::int64_t count = i == 5 ? 3 : 4;
      ASSERT_EQ(batch->inputs.tensor().sizes(), (std::vector<std::int64_t>{count, 2}));
      EXPECT_EQ(batch->inputs.tensor()[count - 1][1].item<std::int64_t>(), 4 * i + count - 1);
      EXPECT_EQ(batch->labels[0], 40 * i);
      EXPECT_EQ(batch->names[0], "n" + std::to_string(4 * i));
    }
    EXPECT_FALSE(loader.next().has_value());
    EXPECT_FALSE(loader.next().has_value());
  }
}

TEST(Loader, ShufflesAndDropsTheLastBatch) {
  const Numbers numbers(23);
  LoadOptions options;
  options.batch_size = 4;
  options.shuffle = true;
  options.drop_last = true;
  options.workers = 2;
  Loader loader(numbers, options);
  auto order = loading_order(23, options);
  order.resize(20);
  EXPECT_EQ(indices_of(loader), order);
}

TEST(Loader, ThrowsABrokenItemWhereItsBatchIsDue) {
  const Numbers numbers(12, {5});
  for (const int workers : {0, 3}) {
    LoadOptions options;
    options.batch_size = 4;
    options.workers = workers;
    Loader loader(numbers, options);
    EXPECT_EQ(loader.next()->indices[0], 0);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(message_of([&] { loader.next(); }), "number 5 is broken\n  while reading item 5");
    }
  }
}

TEST(Loader, LeavesBrokenItemsOutAndNamesThem) {
  const Numbers numbers(12, {0, 1, 2, 3, 6});
  LoadOptions options;
  options.batch_size = 4;
  options.workers = 2;
  options.skip_broken = true;
  Loader loader(numbers, options);
  EXPECT_EQ(indices_of(loader), (std::vector<std::int64_t>{4, 5, 7, 8, 9, 10, 11}));
  ASSERT_EQ(loader.skipped().size(), 5U);
  EXPECT_CONTAINS(loader.skipped()[4], "number 6 is broken");
}

TEST(Loader, WorksAheadButNotWithoutBound) {
  const Numbers numbers(1000);
  LoadOptions options;
  options.workers = 2;
  options.batch_size = 10;
  Loader loader(numbers, options);
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_GE(numbers.asked(), 20);
  EXPECT_LE(numbers.asked(), 40);  // the one that was taken and three more
}

TEST(Loader, StopsSoonWhenItIsLeft) {
  const Numbers numbers(100000);
  LoadOptions options;
  options.batch_size = 50000;  // five seconds of work
  const auto start = std::chrono::steady_clock::now();
  {
    const Loader loader(numbers, options);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

class Uneven : public Dataset {
 public:
  std::int64_t size() const override { return 2; }
  Task task() const override { return Task::kNone; }
  Sample get(std::int64_t index) const override { return {at::zeros({index + 1}), -1, "u" + std::to_string(index)}; }
};

TEST(Loader, NamesItemsThatDoNotStack) {
  const Uneven uneven;
  Loader loader(uneven, {});
  const std::string message = message_of([&] { loader.next(); });
  EXPECT_CONTAINS(message, "it is float[2], but 'u0' of the same batch is float[1]");
  EXPECT_CONTAINS(message, "while reading 'u1'");
}

TEST(Loader, RefusesImpossibleOptions) {
  const Numbers numbers(3);
  LoadOptions options;
  options.batch_size = 0;
  EXPECT_CONTAINS(message_of([&] { Loader loader(numbers, options); }), "a batch size of 0 is not above 0");
  options = {};
  options.workers = -1;
  EXPECT_CONTAINS(message_of([&] { Loader loader(numbers, options); }), "-1 loading threads are impossible");
}

}  // namespace
}  // namespace quench
