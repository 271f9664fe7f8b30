// pot_mode: each batch votes for a power-of-two step (min_max_floor's); the one with most votes wins, ties go to
// the smallest exponent: Vitis' activations. docs/numerics.md 6.10.
#include <ATen/ATen.h>

#include <cmath>
#include <map>

#include "observers/vitis.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kMostVotes = std::int64_t{1} << 53;  // as many as batches; sums of two cannot overflow

// How many batches are for each exponent.
class Votes : public Statistic {
 public:
  void add(int exponent) { ++votes_[exponent]; }
  int winner() const {
    auto most = votes_.begin();
    for (auto one = votes_.begin(); one != votes_.end(); ++one)
      if (one->second > most->second) most = one;
    return most->first;
  }

  void add_all(const Statistic& other, const BatchCounts&) override {
    for (const auto& [exponent, count] : static_cast<const Votes&>(other).votes_) votes_[exponent] += count;
  }
  void clear() override { votes_.clear(); }

  void save(State& state) const override {
    std::vector<std::int64_t> exponents, counts;
    for (const auto& [exponent, count] : votes_) {
      exponents.push_back(exponent);
      counts.push_back(count);
    }
    state["exponents"] = state_of(exponents);
    state["votes"] = state_of(counts);
  }

  void restore(const State& state, std::size_t) override {
    const std::vector<std::int64_t> exponents = integers_of(state, "exponents"), counts = integers_of(state, "votes");
    QUENCH_CHECK(!exponents.empty() && exponents.size() == counts.size(), exponents.size(), " exponents with ",
                 counts.size(), " votes");
    for (std::size_t i = 0; i < exponents.size(); ++i) {
      QUENCH_CHECK(counts[i] >= 1 && counts[i] <= kMostVotes, "an exponent has ", counts[i], " votes");
      QUENCH_CHECK(votes_.try_emplace(checked_exponent(exponents[i]), counts[i]).second, "the exponent ", exponents[i],
                   " occurs twice");
    }
  }

 private:
  std::map<int, std::int64_t> votes_;
};

class PotMode : public StatisticsObserver {
 public:
  PotMode(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme), rule_(vitis_rule(scheme, options.word("type"))) {
    keep(votes_);
  }

  bool by_batch() const override { return true; }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override {
    ExponentErrors errors(rule_);
    errors.add(x, range.min[0], range.max[0]);
    votes_.add(errors.best());
  }

  QParams compute() const override { return qparams_of_scale(scheme(), {std::ldexp(1.0F, -votes_.winner())}, {0.0F}); }

 private:
  VitisRule rule_;
  Votes votes_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "pot_mode", "Vitis' activations: batches vote for a power-of-two step",
                     {new_observer<PotMode>, {vitis_type_option("tensor")}, false, false, true, false})

}  // namespace quench
