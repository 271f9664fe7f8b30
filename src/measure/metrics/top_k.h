// top1, top5, topk: whether the label is among the k classes with the largest scores.
#pragma once

#include "quench/evaluate.h"
#include "quench/metric.h"

namespace quench {

class TopK : public RatioMetric {
 public:
  // `labelled` false: only predicts, for data without labels.
  TopK(std::int64_t k, std::string output, bool labelled = true);

  MetricNeed need() const override { return MetricNeed::kLabels; }
  std::vector<std::string> outputs() const override { return {output_}; }
  ItemStatistic measure(const MetricItem& item) const override;
  std::optional<std::int64_t> right(const std::vector<ItemStatistic>& items) const override;

 private:
  std::int64_t k_;
  std::string output_;
  bool labelled_;
};

// What TopK::measure knows of an item, and back (of top-1). Throws for a statistic that is not of a TopK.
Prediction prediction_of(std::int64_t index, const std::string& name, const ItemStatistic& statistic);
ItemStatistic statistic_of(const Prediction& prediction);

}  // namespace quench
