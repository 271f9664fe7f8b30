// fixed_qparams: a given scale and zero point: for Sigmoid, Softmax (1/256, 0) and Tanh (2/256, 128),
// whose range is known (docs/numerics.md 2).
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "quench/error.h"
#include "quench/statistic.h"

namespace quench {
namespace {

class FixedQParams : public StatisticsObserver {
 public:
  FixedQParams(const QScheme& scheme, const Options& options) : StatisticsObserver(scheme) {
    const double scale = options.number("scale"), zero = options.number("zero_point");
    QUENCH_CHECK(!std::isnan(scale), "the option 'scale' must be given");
    QUENCH_CHECK(static_cast<float>(scale) > 0 && std::isfinite(static_cast<float>(scale)),
                 "the scale must be positive and finite, not ", scale);
    const int least = scheme.is_int() && !scheme.symmetric() ? scheme.qmin() : 0;
    const int greatest = scheme.is_int() && !scheme.symmetric() ? scheme.qmax() : 0;
    QUENCH_CHECK(zero == std::floor(zero) && zero >= least && zero <= greatest, "the zero point of '", scheme.text(),
                 "' is a whole number from ", least, " to ", greatest, ", not ", zero);
    given_ = {{static_cast<float>(scale)}, {static_cast<std::int32_t>(zero)}};
  }

 protected:
  void add(const at::Tensor&, const TensorRange&) override {}
  QParams compute() const override { return given_; }

 private:
  QParams given_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "fixed_qparams", "a given scale and zero point",
                     {new_observer<FixedQParams>,
                      {{"scale", std::numeric_limits<double>::quiet_NaN(), "the scale; must be given"},
                       {"zero_point", 0.0, "the zero point"}},
                      false,
                      false,
                      false})

}  // namespace quench
