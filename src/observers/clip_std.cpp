// clip_std: mean +- std_scale deviations, within what was seen. docs/numerics.md 6.5; MQBench's widens instead (D4).
#include <ATen/ATen.h>

#include <algorithm>

#include "observers/moments.h"
#include "observers/range.h"
#include "quench/error.h"

namespace quench {
namespace {

class ClipStd : public StatisticsObserver {
 public:
  ClipStd(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme), reach_(options.number("std_scale")) {
    QUENCH_CHECK(reach_ > 0, "std_scale must be positive, not ", reach_);
    keep(range_);
    keep(moments_);
  }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override {
    range_.add(range);
    moments_.add(x, scheme());
  }

  QParams compute() const override {
    TensorRange clipped = range_.range();
    for (std::size_t i = 0; i < entries(); ++i) {
      const double mean = moments_.mean(i), reach = reach_ * moments_.deviation(i);
      clipped.min[i] = std::max(clipped.min[i], static_cast<float>(mean - reach));
      clipped.max[i] = std::min(clipped.max[i], static_cast<float>(mean + reach));
      // The mean of equal values may round to a neighbour.
      clipped.max[i] = std::max(clipped.min[i], clipped.max[i]);
    }
    return qparams_of_range(scheme(), clipped.min, clipped.max);
  }

 private:
  double reach_;
  RunningRange range_;
  RunningMoments moments_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "clip_std", "the mean and a number of deviations to both sides",
                     {new_observer<ClipStd>, {{"std_scale", 2.6, "deviations to each side"}}})

}  // namespace quench
