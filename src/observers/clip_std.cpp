// clip_std: mean +- std_scale deviations, within what was seen. docs/numerics.md 6.5; MQBench's widens instead (D4).
#include <ATen/ATen.h>

#include <algorithm>

#include "observers/moments.h"
#include "quench/error.h"

namespace quench {
namespace {

class ClipStd : public MomentsObserver {
 public:
  ClipStd(const QScheme& scheme, const Options& options)
      : MomentsObserver(scheme), reach_(options.number("std_scale")) {
    QUENCH_CHECK(reach_ > 0, "std_scale must be positive, not ", reach_);
  }

 protected:
  QParams compute() const override {
    TensorRange clipped = range();
    for (std::size_t i = 0; i < entries(); ++i) {
      const double mean = moments().mean(i), reach = reach_ * moments().deviation(i);
      clipped.min[i] = std::max(clipped.min[i], static_cast<float>(mean - reach));
      clipped.max[i] = std::min(clipped.max[i], static_cast<float>(mean + reach));
      // The mean of equal values may round to a neighbour.
      clipped.max[i] = std::max(clipped.min[i], clipped.max[i]);
    }
    return qparams_of_range(scheme(), clipped.min, clipped.max);
  }

 private:
  double reach_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "clip_std", "the mean and a number of deviations to both sides",
                     {new_observer<ClipStd>, {{"std_scale", 2.6, "deviations to each side"}}})

}  // namespace quench
