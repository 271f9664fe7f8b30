// min_max_floor: the power-of-two step with the least squared error, of the first that holds the range and a few
// finer ones: Vitis' weights and biases. docs/numerics.md 6.9; over all batches (D15).
#include <ATen/ATen.h>

#include <cmath>

#include "observers/vitis.h"

namespace quench {
namespace {

class MinMaxFloor : public StatisticsObserver {
 public:
  MinMaxFloor(const QScheme& scheme, const Options& options)
      : StatisticsObserver(scheme), errors_(vitis_rule(scheme, options.word("type"))) {
    keep(errors_);
  }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override { errors_.add(x, range.min[0], range.max[0]); }
  QParams compute() const override { return qparams_of_scale(scheme(), {std::ldexp(1.0F, -errors_.best())}, {0.0F}); }

 private:
  ExponentErrors errors_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "min_max_floor", "Vitis' weights: the power-of-two step with the least error",
                     {new_observer<MinMaxFloor>, {vitis_type_option("param")}, false, false, true, false})

}  // namespace quench
