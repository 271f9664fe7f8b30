// Step 1, the observer: collects what the quantization function starts from. The chip's adders need some headroom, so
// the range of all values is widened by a factor.
#include <ATen/ATen.h>

#include "quench/statistic.h"

namespace {

class ExampleObserver : public quench::StatisticsObserver {
 public:
  ExampleObserver(const quench::QScheme& scheme, const quench::Options& options)
      : StatisticsObserver(scheme), headroom_(static_cast<float>(options.number("headroom"))) {
    keep(range_);  // merged, saved and restored from here on
  }

 protected:
  void add(const at::Tensor&, const quench::TensorRange& range) override { range_.add(range); }
  quench::QParams compute() const override {
    quench::TensorRange wide = range_.range();
    for (float& end : wide.min) end *= headroom_;
    for (float& end : wide.max) end *= headroom_;
    return quench::qparams_of_range(scheme(), wide.min, wide.max);
  }

 private:
  quench::RunningRange range_;
  float headroom_;
};

}  // namespace

QUENCH_REGISTER_ITEM(quench::ObserverEntry, "example", "the range of all values, with headroom for the example chip",
                     {.make = quench::new_observer<ExampleObserver>,
                      .options = {{"headroom", 1.05, "what the range is multiplied by"}}})
