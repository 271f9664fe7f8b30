// wer: words that were inserted, left out or replaced, over those of the references, all items together.
#include "measure/metrics/transcript.h"
#include "quench/metric.h"

namespace quench {
namespace {

class WordError : public RatioMetric {
 public:
  explicit WordError(const Options& options) : transcripts_(options) {}
  MetricNeed need() const override { return MetricNeed::kTargets; }
  std::vector<std::string> outputs() const override { return {transcripts_.output()}; }
  ItemStatistic measure(const MetricItem& item) const override {
    const auto [written, reference] = transcripts_.words(item);
    return {static_cast<double>(edits(written, reference)), static_cast<double>(reference.size())};
  }

 private:
  Transcripts transcripts_;
};

}  // namespace

QUENCH_REGISTER_ITEM(MetricEntry, "wer", "word error rate: edits over the words of the references",
                     {new_metric<WordError>, "%", MetricBetter::kLower, Transcripts::options()})

}  // namespace quench
