// cosine: the cosine of the angle between an output and what it is held against, averaged over the items. Two outputs
// of zeros alone agree; zeros and something else do not.
#include <ATen/ATen.h>

#include <cmath>

#include "measure/metrics/compared.h"

namespace quench {
namespace {

class Cosine : public RatioMetric {
 public:
  explicit Cosine(const Options& options) : compared_(options) {}
  MetricNeed need() const override { return compared_.need(); }
  std::vector<std::string> outputs() const override { return {compared_.output()}; }
  ItemStatistic measure(const MetricItem& item) const override {
    const auto [output, other] = compared_.rows(item);
    const double length = output.norm().item<double>(), other_length = other.norm().item<double>();
    if (length == 0 || other_length == 0) return {length == other_length ? 1.0 : 0.0, 1.0};
    return {output.dot(other).item<double>() / (length * other_length), 1.0};
  }

 private:
  Compared compared_;
};

}  // namespace

QUENCH_REGISTER_ITEM(MetricEntry, "cosine",
                     "mean cosine between an output and a target, or that output of the float network",
                     {new_metric<Cosine>, "", MetricBetter::kHigher, Compared::options()})

}  // namespace quench
