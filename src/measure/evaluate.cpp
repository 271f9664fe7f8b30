#include "quench/evaluate.h"
#include "data/data_description.h"
#include "distributed/check_same.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "core/joined.h"
#include "data/fed_items.h"
#include "data/feed.h"
#include "kernels/device_copy.h"
#include "measure/fast_run.h"
#include "measure/gather_results.h"
#include "measure/metric_run.h"
#include "quench/distributed.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/paired_test.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

using Run = std::function<std::vector<RtValue>(const NamedValues&)>;

// The graph as it is, or in its fastest form.
Run runner(const Graph& graph, const std::vector<std::size_t>& outputs, const EvalOptions& options) {
  if (options.optimize) {
    const auto fast = std::make_shared<FastRun>(graph, options.device, outputs);
    return [fast](const NamedValues& inputs) { return fast->run_outputs(inputs); };
  }
  ExecOptions exec;
  exec.device = options.device;
  const auto executor = std::make_shared<Executor>(graph, exec);
  std::vector<std::string> names;
  for (const std::size_t output : outputs) names.push_back(graph.outputs()[output]->name());
  return [executor, names](const NamedValues& inputs) {
    const NamedValues values = executor->run(inputs, names);
    std::vector<RtValue> wanted;
    for (const std::string& name : names) wanted.push_back(values.at(name));
    return wanted;
  };
}

FeedOptions feed_options(const EvalOptions& options) {
  FeedOptions how;
  how.batch = options.batch;
  how.workers = options.workers;
  how.skip_broken = options.skip_broken;
  how.part = options.processes ? options.processes->rank() : 0;
  how.parts = options.processes ? options.processes->size() : 1;
  return how;
}

// An output on its way from the device, if it is there.
struct Arriving {
  explicit Arriving(const RtValue& output) : value(output) {
    if (is_elsewhere()) copy.emplace(output.tensor());
  }
  bool is_elsewhere() const { return value.is_tensor() && !value.tensor().is_cpu(); }
  RtValue wait() { return copy ? RtValue(copy->wait(), value.dtype()) : value; }

  RtValue value;
  std::optional<Download> copy;
};

// Batches and their results, one behind the other: on a GPU a batch is scored while the next one is computed.
class Scoring {
 public:
  Scoring(const Feed& feed, const EvalOptions& options, MetricRun& metrics, EvalResult& result)
      : feed_(feed), options_(options), metrics_(metrics), result_(result), tokens_(feed.data().token_input()) {}

  void add(Fed fed, const std::vector<RtValue>& outputs, const std::vector<RtValue>& reference) {
    Waiting next{std::move(fed), {outputs.begin(), outputs.end()}, {reference.begin(), reference.end()}};
    finish();
    const bool is_here =
        std::none_of(next.outputs.begin(), next.outputs.end(), [](const Arriving& one) { return one.is_elsewhere(); });
    waiting_ = std::move(next);
    if (is_here) finish();
  }

  void finish() {
    if (!waiting_) return;
    const auto before = Clock::now();
    const std::vector<RtValue> outputs = arrived(waiting_->outputs), reference = arrived(waiting_->reference);
    result_.model_seconds += seconds_since(before);
    metrics_.add(waiting_->fed, tokens_, outputs, reference);
    done_ += waiting_->fed.items;
    if (options_.progress) options_.progress(done_, feed_.size());
    waiting_.reset();
  }

 private:
  struct Waiting {
    Fed fed;
    std::vector<Arriving> outputs, reference;
  };
  static std::vector<RtValue> arrived(std::vector<Arriving>& arriving) {
    std::vector<RtValue> values;
    for (Arriving& one : arriving) values.push_back(one.wait());
    return values;
  }

  const Feed& feed_;
  const EvalOptions& options_;
  MetricRun& metrics_;
  EvalResult& result_;
  const std::string tokens_;
  std::optional<Waiting> waiting_;
  std::int64_t done_ = 0;
};

PairedTest right_or_wrong(const std::vector<ItemStatistic>& first, const std::vector<ItemStatistic>& second) {
  PairedTest test;
  test.items = static_cast<std::int64_t>(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    test.only_first += first[i][0] > second[i][0] ? 1 : 0;
    test.only_second += first[i][0] < second[i][0] ? 1 : 0;
  }
  test.p_value = mcnemar_p_value(test.only_first, test.only_second);
  return test;
}

}  // namespace

EvalResult evaluate(const Graph& graph, const Dataset& data, const EvalOptions& options) {
  EvalResult result;
  result.task = data.task();
  result.chosen = !options.metrics.empty();
  MetricRun metrics(graph, data, options);
  const Run run = runner(graph, metrics.outputs(), options);
  Run run_reference;
  if (metrics.needs_reference()) run_reference = runner(*options.reference, metrics.outputs(), options);
  const auto start = Clock::now();
  check_same(options.processes, "data", [&] { return data_description(data); });
  Feed feed(graph, data, feed_options(options));
  result.batch = feed.batch_size();
  Scoring scoring(feed, options, metrics, result);
  while (std::optional<Fed> fed = feed.next()) {
    check_no_nan(*fed);
    const auto before = Clock::now();
    const std::vector<RtValue> outputs = run(fed->inputs);
    result.model_seconds += seconds_since(before);
    const std::vector<RtValue> reference = run_reference ? run_reference(fed->inputs) : std::vector<RtValue>();
    scoring.add(std::move(*fed), outputs, reference);
  }
  scoring.finish();
  result.skipped = feed.skipped();
  if (options.processes) gather_results(*options.processes, result, metrics.items());
  QUENCH_CHECK(!metrics.items().empty(), "no item of the data could be used (", result.skipped.size(), " broken)");
  result.seconds = seconds_since(start);
  metrics.finish(result);
  return result;
}

void check_evaluates(const Graph& graph, const Dataset& data, const EvalOptions& options) {
  MetricRun(graph, data, options);
}

const MetricResult& EvalResult::metric(const std::string& name) const {
  for (const MetricResult& one : metrics)
    if (one.name == name) return one;
  const std::string known = joined(metrics, ", ", [](const MetricResult& one) { return one.name; });
  fail("the metric '", name, "' was not measured; measured: ", known.empty() ? "none" : known);
}

std::int64_t EvalResult::tokens() const {
  double count = 0.0;
  for (const ItemStatistic& text : metric("perplexity").items) count += text[1];
  return static_cast<std::int64_t>(count);
}

PairedDifference compare_results(const EvalResult& first, const EvalResult& second, const std::string& metric,
                                 int resamples) {
  QUENCH_CHECK(first.indices == second.indices && first.names == second.names,
               "the two runs are not of the same items (", first.items, " and ", second.items, ")");
  const std::vector<ItemStatistic>&a = first.metric(metric).items, &b = second.metric(metric).items;
  const std::unique_ptr<Metric> made = make_metric(parse_metric(metric));
  if (!made->right(a) || !made->right(b))
    return bootstrap_difference(made->combine(a), made->combine(b), a.size(), resamples);
  const PairedTest test = right_or_wrong(a, b);
  const double difference = static_cast<double>(test.only_first - test.only_second) / static_cast<double>(test.items);
  return {difference, difference_interval(test), test.p_value};
}

}  // namespace quench
