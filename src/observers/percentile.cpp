// percentile: cuts the given share off each tail of the histogram of all batches. docs/numerics.md 6.4.
#include <ATen/ATen.h>

#include <algorithm>

#include "observers/one_pass.h"
#include "quench/error.h"

namespace quench {
namespace {

// Below the result lies this share of the counts; linear inside a bin.
float value_at(const GridHistogram& histogram, std::size_t entry, double share) {
  const double wanted = share * histogram.total(entry);
  const double* counts = histogram.row(entry);
  double sum = 0;
  for (int i = 0; i < histogram.bins(); ++i) {
    if (counts[i] > 0 && sum + counts[i] >= wanted)
      return static_cast<float>(histogram.low(entry) + histogram.width(entry) * (i + (wanted - sum) / counts[i]));
    sum += counts[i];
  }
  return histogram.range().max[entry];
}

class Percentile : public StatisticsObserver, public OnePass {
 public:
  Percentile(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme),
        both_(options.flag("symmetric")),
        share_(options.number("percentile") / 100),
        histogram_(options) {
    QUENCH_CHECK(share_ > 0.5 && share_ <= 1, "percentile must lie between 50 and 100, not ", share_ * 100);
    keep(histogram_);
  }

  GridHistogram* all_that_is_kept() override { return &histogram_; }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override { histogram_.add(x, scheme(), range); }

  QParams compute() const override {
    const TensorRange& seen = histogram_.range();
    TensorRange range;
    for (std::size_t c = 0; c < entries(); ++c) {
      float low = std::clamp(value_at(histogram_, c, 1 - share_), seen.min[c], seen.max[c]);
      float high = std::clamp(value_at(histogram_, c, share_), low, seen.max[c]);
      if (both_) {
        high = std::max(-low, high);
        low = -high;
      }
      range.min.push_back(low);
      range.max.push_back(high);
    }
    return qparams_of_range(scheme(), range.min, range.max);
  }

 private:
  bool both_;
  double share_;
  GridHistogram histogram_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "percentile", "cuts a share off each tail of the histogram of all batches",
                     {new_observer<Percentile>,
                      {{"percentile", 99.99, "percent of the values that lie below the upper end"},
                       {"symmetric", 0.0, "1: the larger of both ends, to both sides"},
                       GridHistogram::bins_option()}})

}  // namespace quench
