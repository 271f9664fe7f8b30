// min_max: the least and the greatest value of all batches. docs/numerics.md 6.1.
#include <ATen/ATen.h>

#include "quench/statistic.h"

namespace quench {
namespace {

class MinMax : public StatisticsObserver {
 public:
  MinMax(const QScheme& scheme, const Options&) : StatisticsObserver(scheme) { keep(range_); }

 protected:
  void add(const at::Tensor&, const TensorRange& range) override { range_.add(range); }
  QParams compute() const override { return qparams_of_range(scheme(), range_.range().min, range_.range().max); }

 private:
  RunningRange range_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "min_max", "least and greatest value of all batches",
                     {new_observer<MinMax>, {}, true, true})

}  // namespace quench
