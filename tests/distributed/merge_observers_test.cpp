// Merged over processes, an observer is what one process would have that saw all of the data: for every registered
// observer that does not go by batches.
#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"
#include "observers/scaleless.h"
#include "quench/distributed.h"
#include "support/expect_error.h"
#include "support/together.h"

namespace quench {
namespace {

Options options_for(const ObserverEntry& entry) {
  Options options;
  for (const OptionInfo& one : entry.options) {
    const auto* number = std::get_if<double>(&one.fallback);
    if (number && std::isnan(*number)) options.set(one.name, 0.05);  // has no default
    if (one.name == "bins") options.set(one.name, 160.0);
  }
  return options;
}

std::vector<std::unique_ptr<Observer>> observers() {
  std::vector<std::unique_ptr<Observer>> made;
  for (const std::string& name : ObserverRegistry::instance().names()) {
    const ObserverEntry& entry = ObserverRegistry::instance().get(name);
    for (const char* scheme : {"int8 symmetric tensor", "uint8 affine tensor", "int8 symmetric channel:1"}) {
      const QScheme parsed = QScheme::parse(scheme);
      if ((!entry.per_channel && !parsed.per_tensor()) || (!entry.affine && !parsed.symmetric())) continue;
      auto observer = make_observer(name, parsed, options_for(entry));
      const bool finds_scales = !dynamic_cast<const ScalelessObserver*>(observer.get());
      if (finds_scales && !observer->by_batch()) made.push_back(std::move(observer));
    }
  }
  return made;
}

// Ranges grow from batch to batch.
std::vector<at::Tensor> batches() {
  at::manual_seed(21);
  std::vector<at::Tensor> all;
  for (int i = 0; i < 10; ++i) all.push_back(at::randn({3, 4, 5}) * (1 + 0.5 * i) + 0.3);
  return all;
}

bool only_adds(const std::string& kind) { return kind == "lsq" || kind == "lsq_plus" || kind == "clip_std"; }

void expect_same(const Observer& found, const Observer& wanted) {
  const std::string what = found.kind() + " " + found.scheme().text();
  EXPECT_EQ(found.batches(), wanted.batches()) << what;
  const QParams one = found.qparams(), other = wanted.qparams();
  EXPECT_EQ(one.zero_point, other.zero_point) << what;
  ASSERT_EQ(one.scale.size(), other.scale.size()) << what;
  for (std::size_t i = 0; i < one.scale.size(); ++i)
    if (only_adds(found.kind()))  // sums differ in their last bits with the order
      EXPECT_NEAR(one.scale[i], other.scale[i], other.scale[i] * 1.2e-7) << what;
    else
      EXPECT_EQ(one.scale[i], other.scale[i]) << what;
}

// The last of four sees nothing at all.
void expect_merged(const Processes& processes) {
  const auto mine = observers(), whole = observers();
  ASSERT_GT(mine.size(), 10U);
  std::vector<Observer*> all;
  const int working = processes.size() == 4 ? 3 : processes.size();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    int number = 0;
    for (const at::Tensor& batch : batches()) {
      whole[i]->observe(batch);
      if (number++ % working == processes.rank()) mine[i]->observe(batch);
    }
    all.push_back(mine[i].get());
  }
  merge_observers(processes, all);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    expect_same(*mine[i], *whole[i]);
    // To the bit the same everywhere, also where sums are concerned.
    std::string state;
    for (const auto& [name, tensor] : mine[i]->state())
      state += name + std::string(static_cast<const char*>(tensor.contiguous().data_ptr()), tensor.nbytes());
    for (const std::string& other : processes.gather(state)) EXPECT_EQ(other, state) << mine[i]->kind();
  }
}

void expect_first_ones(const Processes& processes) {
  const auto mine = observer_of("ema_min_max", "int8 symmetric tensor");
  const auto first = observer_of("ema_min_max", "int8 symmetric tensor");
  mine->observe(batches()[static_cast<std::size_t>(processes.rank())]);
  first->observe(batches()[0]);
  copy_first_observers(processes, {mine.get()});
  EXPECT_EQ(mine->qparams(), first->qparams());
}

// Each sees its share of every batch, and all are joined after it.
void expect_joined(const Processes& processes) {
  for (const char* kind : {"min_max", "ema_min_max", "lsq"}) {
    for (const char* scheme : {"int8 symmetric tensor", "int8 symmetric channel:1"}) {
      const auto mine = observer_of(kind, scheme), whole = observer_of(kind, scheme);
      at::manual_seed(5);
      for (int step = 0; step < 4; ++step) {
        const at::Tensor batch = at::randn({8, 4, 5}) * (1 + step % 3);
        const std::int64_t share = 8 / processes.size();
        const auto before = mine->state();
        mine->observe(batch.narrow(0, share * processes.rank(), share));
        join_shares(processes, {mine.get()}, {before});
        whole->observe(batch);
        expect_same(*mine, *whole);
      }
    }
  }
  const auto other = observer_of("histogram", "int8 symmetric tensor");
  EXPECT_ERROR(join_shares(processes, {other.get()}, {other->state()}), "an observer 'histogram' cannot be joined");
}

// A tensor whose length depends on the data may be empty in one process: its range of before says nothing of the batch,
// and a moving range that shrinks must not be held by it.
void expect_joined_beside_empty_shares(const Processes& processes) {
  for (const char* kind : {"min_max", "ema_min_max", "lsq"}) {
    const auto mine = observer_of(kind, "uint8 affine tensor"), whole = observer_of(kind, "uint8 affine tensor");
    at::manual_seed(6);
    for (int step = 0; step < 6; ++step) {
      const at::Tensor batch = at::randn({8, 4, 5}) * (7 - step) + 0.5;
      const bool has_it = processes.rank() == step % processes.size();
      const auto before = mine->state();
      mine->observe(batch.narrow(0, 0, has_it ? 8 : 0));
      join_shares(processes, {mine.get()}, {before});
      whole->observe(batch);
      expect_same(*mine, *whole);
    }
  }
}

TEST(JoinShares, OfTwoOfWhichOneAloneHasItems) { together(2, expect_joined_beside_empty_shares); }
TEST(JoinShares, OfFourOfWhichOneAloneHasItems) { together(4, expect_joined_beside_empty_shares); }

TEST(JoinShares, OfTwoProcesses) { together(2, expect_joined); }
TEST(JoinShares, OfFourProcesses) { together(4, expect_joined); }

TEST(MergeObservers, OfTwoProcesses) {
  together(2, [](const Processes& processes) {
    expect_merged(processes);
    expect_first_ones(processes);
  });
}
TEST(MergeObservers, OfFourProcesses) { together(4, expect_merged); }

}  // namespace
}  // namespace quench
