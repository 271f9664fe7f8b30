// mse, ema_mse: the range with the least error |q(x) - x|^p of a grid of 95 (per tensor) or 80 ranges.
// docs/numerics.md 6.6. On a histogram of all batches (one search at the end), or as MQBench on each batch: the ranges
// found there are combined by min and max, or by a moving average.
#include <ATen/ATen.h>

#include "kernels/statistics/statistics.h"
#include "observers/grid_histogram.h"
#include "observers/range.h"
#include "quench/error.h"

namespace quench {
namespace {

bool on_histogram(const Options& options) {
  const std::string& on = options.word("on");
  if (on != "histogram" && on != "batch") fail_unknown_name("way to search ('on')", on, {"batch", "histogram"});
  return on == "histogram";
}

std::vector<OptionInfo> mse_options() {
  return {{"p", 2.0, "power of the error"},
          {"on", "histogram", "histogram (of all batches, searched once) or batch (each on its own, as in MQBench)"},
          GridHistogram::bins_option()};
}

std::vector<OptionInfo> ema_mse_options() {
  std::vector<OptionInfo> all = mse_options();
  for (const OptionInfo& one : MovingRange::options()) all.push_back(one);
  return all;
}

// `Combined`: RunningRange or MovingRange.
template <typename Combined>
class Mse : public Observer {
 public:
  Mse(const QScheme& scheme, const Options& options)
      : Observer(scheme),
        power_(options.number("p")),
        on_histogram_(on_histogram(options)),
        histogram_(options),
        combined_(made(options)) {
    QUENCH_CHECK(power_ > 0, "the power p of the error must be positive, not ", power_);
  }

  bool by_batch() const override { return kMoves || !on_histogram_; }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override {
    if (on_histogram_) {
      add_counts(x, range);
      return;
    }
    const RangeSearch found = search_range(x, search_args(range));
    combined_.add({found.min, found.max});
  }

  QParams compute() const override {
    if (!on_histogram_) return qparams_of_range(scheme(), combined_.range().min, combined_.range().max);
    const at::Tensor counts = histogram_.counts();
    const RangeSearch found =
        search_histogram({counts, histogram_.lows(), histogram_.highs()}, search_args(histogram_.range()));
    return qparams_of_range(scheme(), found.min, found.max);
  }

  void add_all(const Observer& other) override {
    const auto& same = static_cast<const Mse&>(other);
    if (on_histogram_)
      merge_counts(same);
    else if constexpr (kMoves)
      combined_.merge(same.combined_, batches(), other.batches());
    else
      combined_.merge(same.combined_);
  }

  void clear() override {
    histogram_.clear();
    combined_.clear();
  }

  State save() const override {
    State state;
    if (on_histogram_)
      histogram_.save(state);
    else
      combined_.save(state);
    return state;
  }

  void restore(const State& state) override {
    if (on_histogram_)
      histogram_.restore(state, entries());
    else
      combined_.restore(state, entries());
  }

 private:
  static constexpr bool kMoves = std::is_same_v<Combined, MovingRange>;

  static Combined made(const Options& options) {
    if constexpr (kMoves)
      return MovingRange(options);
    else
      return RunningRange();
  }

  SearchArgs search_args(const TensorRange& range) const {
    return {scheme(), range.min, range.max, power_, scheme().per_tensor() ? 95 : 80};
  }

  // The moving average of a histogram: old counts weigh r, new ones 1 - r; the first batch counts in full.
  void add_counts(const at::Tensor& x, const TensorRange& range) {
    double weight = 1.0;
    if constexpr (kMoves)
      if (seen()) {
        histogram_.scale_counts(combined_.old_weight());
        weight = 1.0 - combined_.old_weight();
      }
    histogram_.add(x, scheme(), range, weight);
  }

  // Averages merge as the mean over batches (docs/numerics.md 6.0), counts as a sum.
  void merge_counts(const Mse& other) {
    if constexpr (kMoves) {
      const auto all = static_cast<double>(batches() + other.batches());
      GridHistogram theirs = other.histogram_;
      theirs.scale_counts(static_cast<double>(other.batches()) / all);
      histogram_.scale_counts(static_cast<double>(batches()) / all);
      histogram_.merge(theirs);
    } else {
      histogram_.merge(other.histogram_);
    }
  }

  double power_;
  bool on_histogram_;
  GridHistogram histogram_;
  Combined combined_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "mse", "the range with the least error |q(x) - x|^p of all batches",
                     {new_observer<Mse<RunningRange>>, mse_options()})
QUENCH_REGISTER_ITEM(ObserverEntry, "ema_mse", "as mse, with a moving average over the batches",
                     {new_observer<Mse<MovingRange>>, ema_mse_options()})

}  // namespace quench
