// The metrics of one evaluation at work: which outputs they read, and what each item gave them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/feed.h"
#include "quench/evaluate.h"

namespace quench {

struct MeasuredItem {
  std::int64_t index = 0;  // in the data set
  std::string name;
  std::vector<ItemStatistic> statistics;  // one per metric
};

class MetricRun {
 public:
  // Throws for a metric that is not known, or needs what the data does not have.
  MetricRun(const Graph& graph, const Dataset& data, const EvalOptions& options);
  ~MetricRun();

  const std::vector<std::size_t>& outputs() const { return outputs_; }  // of the graph, that are read
  bool needs_reference() const;
  // `outputs` and `reference` are the values of outputs(), in that order; without the copies that pad a batch.
  void add(const Fed& fed, const std::string& token_input, const std::vector<RtValue>& outputs,
           const std::vector<RtValue>& reference);
  std::vector<MeasuredItem>& items() { return items_; }
  void finish(EvalResult& result) const;

 private:
  struct One;
  void choose(const Dataset& data, const EvalOptions& options);
  MetricResult result_of(std::size_t metric, std::vector<ItemStatistic> items) const;

  std::vector<One> metrics_;
  std::vector<std::size_t> outputs_;
  std::vector<MeasuredItem> items_;
  int resamples_;
  bool predicts_ = false;  // the first metric's statistics are predictions
  bool scores_ = true;     // false: for predictions alone
};

}  // namespace quench
