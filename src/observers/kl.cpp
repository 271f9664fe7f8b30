// kl: the clip at which the histogram of magnitudes and its quantized self differ least in entropy. Numerics
// 7.3 (TensorRT 2017, ncnn).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "observers/running_histogram.h"
#include "quench/error.h"

namespace quench {
namespace {

class EntropySearch {
 public:
  EntropySearch(const double* counts, int bins, int levels) : counts_(counts), bins_(bins), levels_(levels) {
    for (int i = 0; i < bins; ++i) total_ += counts[i];
  }

  // How many bins are kept.
  int run() {
    int best = bins_;
    double least = std::numeric_limits<double>::infinity();
    for (int kept = levels_; kept <= bins_; ++kept) {
      const double divergence = divergence_of(kept);
      if (divergence < least) {
        least = divergence;
        best = kept;
      }
    }
    return best;
  }

 private:
  // Visits the groups: kept / levels bins each, with fractional borders. visit(bin, share of the bin, group).
  template <typename Visit>
  void for_each_share(int kept, Visit visit) const {
    const double size = static_cast<double>(kept) / levels_;
    int group = 0;
    for (int i = 0; i < kept; ++i) {
      double from = i;
      while (from < i + 1) {
        const double border = group + 1 < levels_ ? (group + 1) * size : kept;
        const double to = std::min(border, i + 1.0);
        visit(i, to - from, group);
        from = to;
        if (to >= border) ++group;
      }
    }
  }

  double divergence_of(int kept) {
    constexpr double kSmall = 1e-4;  // in place of an empty bin, as ncnn
    reference_.assign(counts_, counts_ + kept);
    double inside = 0;
    for (int i = 0; i < kept; ++i) inside += counts_[i];
    reference_.back() += total_ - inside;  // what lies beyond saturates
    mass_.assign(static_cast<std::size_t>(levels_), 0.0);
    filled_ = mass_;
    quantized_.assign(static_cast<std::size_t>(kept), 0.0);
    for_each_share(kept, [&](int i, double share, int group) {
      mass_[static_cast<std::size_t>(group)] += share * counts_[i];
      filled_[static_cast<std::size_t>(group)] += reference_[static_cast<std::size_t>(i)] > 0 ? share : 0.0;
    });
    for_each_share(kept, [&](int i, double share, int group) {
      const auto bin = static_cast<std::size_t>(i), at = static_cast<std::size_t>(group);
      if (reference_[bin] > 0 && filled_[at] > 0) quantized_[bin] += share * mass_[at] / filled_[at];
    });
    double divergence = 0;
    for (std::size_t i = 0; i < quantized_.size(); ++i) {
      if (reference_[i] <= 0) continue;  // both are zero
      const double p = reference_[i] / total_;
      const double q = inside > 0 && quantized_[i] > 0 ? quantized_[i] / inside : kSmall;
      divergence += p * std::log(p / q);
    }
    return divergence;
  }

  const double* counts_;
  int bins_, levels_;
  double total_ = 0;
  std::vector<double> reference_, quantized_, mass_, filled_;
};

class Kl : public Observer {
 public:
  Kl(const QScheme& scheme, const Options& options) : Observer(scheme), histogram_(options, true) {
    const double levels = options.number("levels");
    levels_ = levels != 0 ? static_cast<int>(levels) : (scheme.is_int() ? std::max(scheme.levels() / 2, 1) : 128);
    QUENCH_CHECK(levels == std::floor(levels) && levels_ >= 1 && levels_ <= histogram_.bins(),
                 "levels must be a whole ", "number from 1 to the number of bins (", histogram_.bins(), "), not ",
                 levels == 0 ? levels_ : levels);
  }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override { histogram_.add(x, scheme(), range); }

  QParams compute() const override {
    TensorRange range = histogram_.range();
    for (std::size_t c = 0; c < entries(); ++c) {
      if (histogram_.width(c) == 0) continue;  // nothing but zeros
      const int kept = EntropySearch(histogram_.row(c), histogram_.bins(), levels_).run();
      const auto clip = static_cast<float>((kept + 0.5) * histogram_.width(c));
      range.max[c] = std::clamp(range.max[c], -clip, clip);
      range.min[c] = std::clamp(range.min[c], -clip, range.max[c]);
    }
    return qparams_of_range(scheme(), range.min, range.max);
  }

  void add_all(const Observer& other) override { histogram_.merge(static_cast<const Kl&>(other).histogram_); }
  void clear() override { histogram_.clear(); }
  State save() const override {
    State state;
    histogram_.save(state);
    return state;
  }
  void restore(const State& state) override { histogram_.restore(state, entries()); }

 private:
  int levels_ = 128;
  RunningHistogram histogram_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "kl", "the clip where the magnitudes lose least in relative entropy",
                     {new_observer<Kl>,
                      {RunningHistogram::bins_option(),
                       {"levels", 0.0, "steps of the quantized magnitudes (0: half of the scheme's levels)"}}})

}  // namespace quench
