// How good a graph is on a data set, by metrics (quench/metric.h): top-1 and top-5 for labelled items, perplexity for
// texts, unless others are asked for. Predictions alone for what has no labels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/graph.h"
#include "quench/metric.h"

namespace quench {

class Processes;

// One item's result: enough to compare two runs item by item and to see how close a prediction was.
struct Prediction {
  std::int64_t index = 0;  // in the data set
  std::string name;
  std::int64_t label = -1;
  std::int64_t first = -1, second = -1;  // the classes of the two largest logits
  double first_logit = 0.0, second_logit = 0.0;
  bool operator==(const Prediction& other) const = default;
};

constexpr int kResamples = 1000;

struct EvalOptions {
  std::int64_t batch = 0;  // 0: the model's own where it is fixed, else 32
  int workers = 1;         // decoding threads
  bool skip_broken = false;
  bool optimize = false;  // in its fastest form: passes first, then the engine where there is one (quench/engine.h)
  std::string device = "cpu";
  const Processes* processes = nullptr;  // each takes its share of the batches, and all have the whole result
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // after each batch
  std::vector<std::string> metrics =
      {};                            // "top5", "mse:output=logits" (quench/metric.h); none: those of the data's task
  const Graph* reference = nullptr;  // the float network, for metrics that compare with it
  int resamples = kResamples;        // for the intervals; 0: none are computed
};

// What one metric found.
struct MetricResult {
  std::string name;  // as it was asked for: "mse:output=logits"
  std::string unit;  // "%": the values are shares of 1
  MetricBetter better = MetricBetter::kHigher;
  double value = 0.0;
  std::optional<Interval> interval;   // 95 %
  std::optional<std::int64_t> right;  // where each item is right or wrong
  std::vector<std::pair<std::string, double>> details;
  std::vector<ItemStatistic> items;  // in order of the data set

  double score() const { return better == MetricBetter::kHigher ? value : -value; }  // more is better
};

struct EvalResult {
  Task task = Task::kNone;
  bool chosen = false;                // the metrics were asked for
  std::int64_t items = 0;             // that were measured
  std::vector<std::int64_t> indices;  // of them, in order of the data set
  std::vector<std::string> names;
  std::vector<MetricResult> metrics;
  double seconds = 0.0;        // reading included, once the first batch has begun
  double model_seconds = 0.0;  // inside the model alone
  std::int64_t batch = 0;
  std::vector<Prediction> predictions;  // of classes, where no metrics were asked for; in order of the data set
  std::vector<std::string> skipped;     // one message per broken item

  const MetricResult& metric(const std::string& name) const;  // throws if it was not measured
  double top1() const { return metric("top1").value; }
  double top5() const { return metric("top5").value; }
  double perplexity() const { return metric("perplexity").value; }
  std::int64_t tokens() const;  // that perplexity was measured on
};

// Runs the whole data set through the graph. Of equal logits the one of the lowest class counts as the largest. Data
// without labels gives only predictions, unless metrics are asked for: two runs can be compared.
EvalResult evaluate(const Graph& graph, const Dataset& data, const EvalOptions& options = {});

// Throws where evaluate() would for these metrics, before any work: an unknown name, data that lacks what they need.
void check_evaluates(const Graph& graph, const Dataset& data, const EvalOptions& options);

// Two runs by one metric, item by item. Throws if they are not of the same items or metrics.
PairedDifference compare_results(const EvalResult& first, const EvalResult& second, const std::string& metric,
                                 int resamples = kResamples);

}  // namespace quench
