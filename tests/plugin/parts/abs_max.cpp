// abs_max: the greatest magnitude, for both ends. The observer of docs/adding.md, in a plug-in.
#include <ATen/ATen.h>

#include <algorithm>

#include "quench/statistic.h"

namespace quench {
namespace {

class AbsMax : public StatisticsObserver {
 public:
  AbsMax(const QScheme& scheme, const Options&) : StatisticsObserver(scheme) { keep(range_); }

 protected:
  void add(const at::Tensor&, const TensorRange& range) override { range_.add(range); }
  QParams compute() const override {
    std::vector<float> high;
    for (std::size_t i = 0; i < range_.range().min.size(); ++i)
      high.push_back(std::max(-range_.range().min[i], range_.range().max[i]));
    std::vector<float> low = high;
    for (float& one : low) one = -one;
    return qparams_of_range(scheme(), low, high);
  }

 private:
  RunningRange range_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "abs_max", "greatest magnitude, for both ends",
                     {new_observer<AbsMax>, {}, true, false})

}  // namespace quench
