// kl: the clip at which the histogram of magnitudes and its quantized self differ least in entropy.
// docs/numerics.md 7.3 (TensorRT 2017, ncnn).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "observers/entropy_search.h"
#include "observers/one_pass.h"
#include "quench/error.h"

namespace quench {
namespace {

class Kl : public StatisticsObserver, public OnePass {
 public:
  Kl(const QScheme& scheme, const Options& options) : StatisticsObserver(scheme), histogram_(options, true) {
    keep(histogram_);
    const double half = scheme.is_int() ? std::max(scheme.levels() / 2, 1) : 128;
    const double levels = options.number("levels") != 0 ? options.number("levels") : half;
    QUENCH_CHECK(levels == std::floor(levels) && levels >= 1 && levels <= options.number("bins"),
                 "levels must be a whole number from 1 to the number of bins (", options.number("bins"), "), not ",
                 levels);
    levels_ = static_cast<int>(levels);
    by_range_ = options.number("levels") == 0 && scheme.is_int() && !scheme.symmetric();
  }

  GridHistogram* all_that_is_kept() override { return &histogram_; }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override { histogram_.add(x, scheme(), range); }

  QParams compute() const override {
    TensorRange range = histogram_.range();
    for (std::size_t c = 0; c < entries(); ++c) {
      if (histogram_.width(c) == 0) continue;  // nothing but zeros
      const int kept = EntropySearch(without_zeros(c).data(), bins_for(c), levels_for(c)).bins_to_keep();
      const auto clip = static_cast<float>((kept + 0.5) * histogram_.width(c));
      range.max[c] = std::clamp(range.max[c], -clip, clip);
      range.min[c] = std::clamp(range.min[c], -clip, range.max[c]);
    }
    return qparams_of_range(scheme(), range.min, range.max);
  }

 private:
  // Zeros do not matter here: a code stands for them whatever the clip, yet the search would count their
  // peak (half of what a Relu gives) as lost in its group, and clip to the narrowest group for its sake. So the first
  // bin holds no more than its neighbour, as in TensorRT's toolkit (pytorch-quantization, calib/histogram.py).
  std::vector<double> without_zeros(std::size_t entry) const {
    std::vector<double> counts(histogram_.row(entry), histogram_.row(entry) + histogram_.bins());
    if (counts.size() > 1) counts[0] = std::min(counts[0], counts[1]);
    return counts;
  }

  // An affine scheme has its codes where the values are: all of them for the magnitudes of a Relu, half for even signs.
  int levels_for(std::size_t entry) const {
    if (!by_range_) return levels_;
    const double low = std::min(0.0F, histogram_.range().min[entry]),
                 high = std::max(0.0F, histogram_.range().max[entry]);
    const double levels = scheme().levels() * std::max(high, -low) / (high - low);
    return std::clamp(static_cast<int>(levels), levels_, histogram_.bins());
  }

  // Up to the end of the range; the search needs at least one per level.
  int bins_for(std::size_t entry) const { return std::max(histogram_.used_bins(entry), levels_for(entry)); }

  int levels_ = 128;
  bool by_range_ = false;
  GridHistogram histogram_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "kl", "the clip where the magnitudes lose least in relative entropy",
                     {new_observer<Kl>,
                      {GridHistogram::bins_option(),
                       {"levels", 0.0,
                        "steps of the quantized magnitudes (0: the scheme's: half, of an affine one by range)"}}})

}  // namespace quench
