// mse: the mean of squared differences, over all elements of all items.
#include <ATen/ATen.h>

#include "measure/metrics/compared.h"

namespace quench {
namespace {

class MeanSquaredError : public RatioMetric {
 public:
  explicit MeanSquaredError(const Options& options) : compared_(options) {}
  MetricNeed need() const override { return compared_.need(); }
  std::vector<std::string> outputs() const override { return {compared_.output()}; }
  ItemStatistic measure(const MetricItem& item) const override {
    const auto [output, other] = compared_.rows(item);
    return {(output - other).square().sum().item<double>(), static_cast<double>(output.numel())};
  }

 private:
  Compared compared_;
};

}  // namespace

QUENCH_REGISTER_ITEM(MetricEntry, "mse", "mean squared error of an output, to a target or to the float network",
                     {new_metric<MeanSquaredError>, "", MetricBetter::kLower, Compared::options()})

}  // namespace quench
