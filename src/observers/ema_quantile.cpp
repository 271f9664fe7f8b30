// ema_quantile: each batch is clipped where the given share of its magnitudes lies below; the ranges are
// averaged over the batches. docs/numerics.md 6.3.
#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/statistics/statistics.h"
#include "observers/resampled_histogram.h"
#include "quench/error.h"
#include "quench/statistic.h"

namespace quench {
namespace {

std::vector<OptionInfo> ema_quantile_options() {
  std::vector<OptionInfo> all = {{"threshold", 0.99999, "share of the magnitudes that is kept"},
                                 ResampledHistogram::bins_option()};
  for (const OptionInfo& one : MovingRange::options()) all.push_back(one);
  return all;
}

class EmaQuantile : public StatisticsObserver {
 public:
  EmaQuantile(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme), options_(options), threshold_(options.number("threshold")), range_(options) {
    QUENCH_CHECK(threshold_ > 0 && threshold_ <= 1, "threshold must be a share between 0 and 1, not ", threshold_);
    (void)ResampledHistogram(options);  // the number of bins makes sense
    keep(range_);
  }

  bool by_batch() const override { return true; }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override {
    ResampledHistogram magnitudes(options_, true);  // of this batch alone
    magnitudes.add(x, scheme(), range);
    TensorRange clipped = range;
    for (std::size_t c = 0; c < entries(); ++c) {
      const float clip = clip_value(magnitudes, c);
      clipped.min[c] = std::max(range.min[c], -clip);
      clipped.max[c] = std::min(range.max[c], clip);
      // Where nothing of one sign is left, the clip is the end.
      clipped.min[c] = std::min(clipped.min[c], clipped.max[c]);
    }
    range_.add(clipped);
  }

  QParams compute() const override { return qparams_of_range(scheme(), range_.range().min, range_.range().max); }

 private:
  // The centre of the first bin where the cumulated count reaches its share; the whole range if none does.
  float clip_value(const ResampledHistogram& magnitudes, std::size_t entry) const {
    const double wanted = threshold_ * magnitudes.total(entry);
    const double* counts = magnitudes.row(entry);
    double sum = 0;
    for (int i = 0; i < magnitudes.bins(); ++i) {
      sum += counts[i];
      if (sum >= wanted) return static_cast<float>((i + 0.5) * magnitudes.width(entry));
    }
    return static_cast<float>(magnitudes.high(entry));
  }

  Options options_;
  double threshold_;
  MovingRange range_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "ema_quantile", "moving average of where a share of each batch's magnitudes lies",
                     {new_observer<EmaQuantile>, ema_quantile_options()})

}  // namespace quench
