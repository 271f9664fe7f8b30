// histogram: torch's HistogramObserver: cuts the tails as long as the squared error of the histogram falls.
// docs/numerics.md 7.2; with float bounds (D11), as many target bins as the scheme has levels (D12), and counts that do
// not depend on the order of the batches.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "observers/one_pass.h"
#include "observers/resampled_histogram.h"

namespace quench {
namespace {

// Bins kept: [first, last].
struct Kept {
  int first, last;
  bool operator==(const Kept&) const = default;
};

class L2Search {
 public:
  L2Search(const HistogramCounts& histogram, std::size_t entry, int levels)
      : counts_(histogram.row(entry)),
        bins_(histogram.used_bins(entry)),
        levels_(levels),
        width_(histogram.width(entry)) {
    cumulated_.reserve(static_cast<std::size_t>(bins_));
    double sum = 0;
    for (int i = 0; i < bins_; ++i) cumulated_.push_back(sum += counts_[i]);
  }

  Kept run(bool exhaustive) const {
    constexpr double kStep = 1e-5;
    double alpha = 0, beta = 1;
    Kept kept{0, bins_ - 1}, best = kept;
    double least = std::numeric_limits<double>::infinity();
    while (alpha < beta) {
      const Kept next = cut(kept, alpha + kStep, beta - kStep);
      const bool from_below = next.first - kept.first > kept.last - next.last;
      (from_below ? alpha : beta) += from_below ? kStep : -kStep;
      const Kept candidate = from_below ? Kept{next.first, kept.last} : Kept{kept.first, next.last};
      if (candidate == kept) continue;
      const double error = error_of(candidate);
      if (error > least && !exhaustive) break;
      kept = candidate;
      if (error > least) continue;
      least = error;
      best = candidate;
    }
    return best;
  }

 private:
  double cumulated(int bin) const { return cumulated_[static_cast<std::size_t>(bin)]; }

  Kept cut(const Kept& kept, double alpha, double beta) const {
    const double total = cumulated_.back();
    Kept next = kept;
    while (next.first < kept.last && cumulated(next.first) < alpha * total) ++next.first;
    while (next.last > kept.first && cumulated(next.last) > beta * total) --next.last;
    return next;
  }

  // The integral of the squared distance to the centre of the target bin, clipping included.
  double error_of(const Kept& kept) const {
    const double target = width_ * (kept.last - kept.first + 1) / levels_;
    if (target == 0) return 0;
    const double half = target / 2, whole = 2 * half * half * half;
    const auto cube = [](double v) { return v * v * v; };
    double sum = 0;
    for (int i = 0; i < bins_; ++i) {
      if (counts_[i] == 0) continue;
      const double begin = (i - kept.first) * width_, end = begin + width_;
      const double j0 = std::clamp(std::floor(begin / target), 0.0, levels_ - 1.0);
      const double j1 = std::clamp(std::floor(end / target), 0.0, levels_ - 1.0);
      sum += counts_[i] / width_ / 3 *
             (cube(half) - cube(begin - (j0 + 0.5) * target) + (j1 - j0 - 1) * whole + cube(end - (j1 + 0.5) * target) +
              cube(half));
    }
    return sum;
  }

  const double* counts_;
  int bins_, levels_;
  double width_;
  std::vector<double> cumulated_;
};

class Histogram : public StatisticsObserver, public OnePass {
 public:
  Histogram(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme),
        exhaustive_(options.flag("exhaustive")),
        levels_(scheme.is_int() && !options.flag("torch113") ? scheme.levels() : 256),
        histogram_(made(options)) {
    keep(*histogram_);
  }

  bool by_batch() const override { return dynamic_cast<const ResampledHistogram*>(histogram_.get()) != nullptr; }

  GridHistogram* all_that_is_kept() override { return dynamic_cast<GridHistogram*>(histogram_.get()); }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override { histogram_->add(x, scheme(), range); }

  QParams compute() const override {
    TensorRange range;
    for (std::size_t c = 0; c < entries(); ++c) {
      const Kept kept = L2Search(*histogram_, c, levels_).run(exhaustive_);
      const double low = histogram_->low(c), width = histogram_->width(c);
      double from = low + width * kept.first, to = low + width * (kept.last + 1);
      if (!by_batch()) {  // the grid's outermost edges lie beyond what was seen
        from = std::max(from, static_cast<double>(histogram_->range().min[c]));
        to = std::min(to, static_cast<double>(histogram_->range().max[c]));
      }
      range.min.push_back(static_cast<float>(from));
      range.max.push_back(std::max(range.min.back(), static_cast<float>(to)));
    }
    return qparams_of_range(scheme(), range.min, range.max);
  }

 private:
  static std::unique_ptr<HistogramCounts> made(const Options& options) {
    std::unique_ptr<HistogramCounts> resampled = std::make_unique<ResampledHistogram>(options);  // checks them all
    if (options.flag("resample") || options.flag("torch113")) return resampled;
    return std::make_unique<GridHistogram>(options);
  }

  bool exhaustive_;
  int levels_;
  std::unique_ptr<HistogramCounts> histogram_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "histogram", "torch's: cuts the tails while the histogram's squared error falls",
                     {new_observer<Histogram>,
                      {HistogramCounts::bins_option(),
                       {"resample", 0.0, "1: as torch, a wider batch resamples the bins; else they merge in pairs"},
                       {"upsample_rate", 128.0, "fine bins of a bin that is resampled"},
                       {"exhaustive", 0.0, "1: keep searching after the error first rises"},
                       {"torch113", 0.0, "1: resampled, bounds cut to whole numbers and 256 levels, as torch 1.13"}}})

}  // namespace quench
