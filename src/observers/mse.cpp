// mse, ema_mse: the range with the least error |q(x) - x|^p of a grid of 95 (per tensor) or 80 ranges.
// docs/numerics.md 6.6. On a histogram of all batches (one search at the end), or as MQBench on each batch: the ranges
// found there are combined by min and max, or by a moving average.
#include <ATen/ATen.h>

#include "kernels/statistics/statistics.h"
#include "observers/one_pass.h"
#include "quench/error.h"
#include "quench/statistic.h"

namespace quench {
namespace {

bool on_histogram(const Options& options) {
  const std::string& on = options.word("on");
  if (on != "histogram" && on != "batch") fail_unknown_name("value of 'on'", on, {"batch", "histogram"});
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

// The moving average of a histogram: old counts weigh r, new ones 1 - r; the first batch counts in full.
class MovingHistogram : public GridHistogram {
 public:
  explicit MovingHistogram(const Options& options)
      : GridHistogram(options), old_weight_(MovingRange(options).old_weight()) {}

  using GridHistogram::add;
  void add(const at::Tensor& x, const QScheme& scheme, const TensorRange& range, double weight) override {
    const bool first = rows() == 0;
    if (!first) scale_counts(old_weight_);
    GridHistogram::add(x, scheme, range, first ? weight : weight * (1.0 - old_weight_));
  }

  // Averages merge as the mean over batches (docs/numerics.md 6.0).
  void add_all(const Statistic& other, const BatchCounts& batches) override {
    const auto all = static_cast<double>(batches.own + batches.other);
    MovingHistogram theirs = static_cast<const MovingHistogram&>(other);
    theirs.scale_counts(static_cast<double>(batches.other) / all);
    scale_counts(static_cast<double>(batches.own) / all);
    merge(theirs);
  }

 private:
  double old_weight_;
};

// What is searched: a histogram of all batches, or each batch, whose ranges are then combined. One of the two is kept.
template <typename Histogram, typename Combined>
class Mse : public StatisticsObserver, public OnePass {
 public:
  Mse(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme),
        power_(options.number("p")),
        on_histogram_(on_histogram(options)),
        histogram_(options),
        combined_(made(options)) {
    QUENCH_CHECK(power_ > 0, "the power p of the error must be positive, not ", power_);
    if (on_histogram_)
      keep(histogram_);
    else
      keep(combined_);
  }

  bool by_batch() const override { return kMoves || !on_histogram_; }

  GridHistogram* all_that_is_kept() override { return on_histogram_ && !kMoves ? &histogram_ : nullptr; }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override {
    if (on_histogram_) {
      histogram_.add(x, scheme(), range);
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

  double power_;
  bool on_histogram_;
  Histogram histogram_;
  Combined combined_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "mse", "the range with the least error |q(x) - x|^p of all batches",
                     {new_observer<Mse<GridHistogram, RunningRange>>, mse_options()})
QUENCH_REGISTER_ITEM(ObserverEntry, "ema_mse", "as mse, with a moving average over the batches",
                     {new_observer<Mse<MovingHistogram, MovingRange>>, ema_mse_options()})

}  // namespace quench
