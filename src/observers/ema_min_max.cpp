// ema_min_max: the moving average of each batch's least and greatest value. docs/numerics.md 6.2.
#include <ATen/ATen.h>

#include "quench/statistic.h"

namespace quench {
namespace {

class EmaMinMax : public StatisticsObserver {
 public:
  EmaMinMax(const QScheme& scheme, const Options& options) : StatisticsObserver(scheme), range_(options) {
    keep(range_);
  }

  bool by_batch() const override { return true; }

 protected:
  void add(const at::Tensor&, const TensorRange& range) override { range_.add(range); }
  QParams compute() const override { return qparams_of_range(scheme(), range_.range().min, range_.range().max); }

 private:
  MovingRange range_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "ema_min_max", "moving average of each batch's least and greatest value",
                     {new_observer<EmaMinMax>, MovingRange::options(), true, true})

}  // namespace quench
