// kl: the clip at which the histogram of magnitudes and its quantized self differ least in entropy. Numerics
// 7.3 (TensorRT 2017, ncnn).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "observers/entropy_search.h"
#include "observers/running_histogram.h"
#include "quench/error.h"

namespace quench {
namespace {

class Kl : public Observer {
 public:
  Kl(const QScheme& scheme, const Options& options) : Observer(scheme), histogram_(options, true) {
    const double half = scheme.is_int() ? std::max(scheme.levels() / 2, 1) : 128;
    const double levels = options.number("levels") != 0 ? options.number("levels") : half;
    QUENCH_CHECK(levels == std::floor(levels) && levels >= 1 && levels <= histogram_.bins(),
                 "levels must be a whole number from 1 to the number of bins (", histogram_.bins(), "), not ", levels);
    levels_ = static_cast<int>(levels);
  }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override { histogram_.add(x, scheme(), range); }

  QParams compute() const override {
    TensorRange range = histogram_.range();
    for (std::size_t c = 0; c < entries(); ++c) {
      if (histogram_.width(c) == 0) continue;  // nothing but zeros
      const int kept = EntropySearch(histogram_.row(c), histogram_.bins(), levels_).bins_to_keep();
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
