// lsq_plus: where LSQ+ starts (Bhalgat 2020). Weights: s = max(|mean - 3 dev|, |mean + 3 dev|) / 2^(bits-1);
// activations: the range with the least squared error, its ends searched apart. docs/numerics.md 6.8 (D15).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "kernels/statistics/statistics.h"
#include "observers/grid_histogram.h"
#include "observers/moments.h"
#include "quench/error.h"
#include "quench/statistic.h"

namespace quench {
namespace {

// Weights are signed and symmetric in LSQ+, activations are not.
bool is_weight(const QScheme& scheme, const std::string& role) {
  if (role == "auto") return scheme.symmetric() && scheme.is_signed();
  return role_from_name(role) == Role::kWeight;
}

class LsqPlus : public StatisticsObserver {
 public:
  LsqPlus(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme), weight_(is_weight(scheme, options.word("role"))), histogram_(options) {
    if (!weight_) {
      keep(histogram_);
      return;
    }
    keep(range_);
    keep(moments_);
  }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override {
    if (!weight_) {
      histogram_.add(x, scheme(), range);
      return;
    }
    range_.add(range);
    moments_.add(x, scheme());
  }

  QParams compute() const override { return weight_ ? by_deviation() : by_search(); }

 private:
  QParams by_deviation() const {
    const double codes = scheme().is_int() ? std::ldexp(1.0, scheme().bits() - 1) : scheme().largest();
    std::vector<float> scale;
    for (std::size_t i = 0; i < entries(); ++i) {
      const double mean = moments_.mean(i), reach = 3 * moments_.deviation(i);
      scale.push_back(static_cast<float>(std::max(std::abs(mean - reach), std::abs(mean + reach)) / codes));
    }
    return qparams_of_scale(scheme(), scale, range_.range().min);
  }

  QParams by_search() const {
    const at::Tensor counts = histogram_.counts();
    const RangeSearch found = search_histogram(
        {counts, histogram_.lows(), histogram_.highs()},
        {scheme(), histogram_.range().min, histogram_.range().max, 2.0, scheme().per_tensor() ? 95 : 80});
    return qparams_of_range(scheme(), found.min, found.max);
  }

  bool weight_;
  GridHistogram histogram_;  // of activations
  RunningRange range_;       // of weights
  RunningMoments moments_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "lsq_plus", "where LSQ+ starts: three deviations, or the least squared error",
                     {new_observer<LsqPlus>,
                      {{"role", "auto", "weight, activation, or auto: weight where signed and symmetric"},
                       GridHistogram::bins_option()}})

}  // namespace quench
