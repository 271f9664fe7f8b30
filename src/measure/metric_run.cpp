#include "measure/metric_run.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "data/batch_size.h"
#include "measure/declared_fit.h"
#include "measure/metrics/top_k.h"
#include "quench/error.h"
#include "quench/paired_test.h"
#include "quench/quantizers.h"

namespace quench {

struct MetricRun::One {
  std::string text;  // as it was asked for
  std::unique_ptr<Metric> metric;
  const MetricEntry* entry = nullptr;  // null: for predictions alone
  std::vector<std::string> names;      // of the outputs that it reads, as it calls them
  std::vector<std::size_t> places;     // of these in MetricRun::outputs
};

namespace {

void check_need(const std::string& text, const Metric& metric, const Dataset& data, const EvalOptions& options) {
  const MetricNeed need = metric.need();
  QUENCH_CHECK(need != MetricNeed::kLabels || data.task() == Task::kClassify, "the metric '", text,
               "' needs labels, which the data does not have");
  QUENCH_CHECK(need != MetricNeed::kTokens || data.task() == Task::kNextToken, "the metric '", text,
               "' needs texts (the kind of data 'tokens'), which the data is not");
  QUENCH_CHECK(need != MetricNeed::kTargets || !data.target_kind().empty(), "the metric '", text,
               "' needs targets, which the data does not have: give it targets=KIND:PATH (docs/data.md)");
  QUENCH_CHECK(need != MetricNeed::kFloat || options.reference, "the metric '", text,
               "' compares with the float network, and there is none: the model has no quantizers");
}

std::size_t output_place(const Graph& graph, const std::string& name) {
  if (name.empty()) return 0;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& own = graph.outputs()[i]->name();  // of a quantized model: with its quantizer's ending
    known.push_back(quantized_value(own));
    if (own == name || known.back() == name) return i;
  }
  fail_unknown_name("output of the model", name, known);
}

std::vector<std::string> usual_metrics(const Dataset& data) {
  if (data.task() == Task::kClassify) return {"top1", "top5"};
  return {"perplexity"};
}

// The outputs of a batch on the CPU; their first axis is that of the items. One item's may lack it.
std::vector<at::Tensor> on_host(const std::vector<RtValue>& outputs, const Fed& fed) {
  std::vector<at::Tensor> tensors;
  for (const RtValue& output : outputs) {
    QUENCH_CHECK(output.is_tensor(), "metrics read tensors, but an output of the model is a sequence");
    tensors.push_back(output.tensor().cpu());
    const at::Tensor& tensor = tensors.back();
    const bool has_axis = tensor.dim() > 0 && tensor.size(0) == fed.rows;
    QUENCH_CHECK(has_axis || fed.rows == 1, "the model gives an output of the shape ", tensor.sizes(), " for ",
                 fed.rows, " items: its first axis is not that of the items (a batch of 1 needs no such axis)");
  }
  return tensors;
}

at::Tensor of_item(const at::Tensor& tensor, const Fed& fed, std::size_t item) {
  const bool has_axis = tensor.dim() > 0 && tensor.size(0) == fed.rows;
  return has_axis ? tensor[static_cast<std::int64_t>(item)] : tensor;
}

MetricItem item_of(const Fed& fed, std::size_t i, const std::string& token_input) {
  MetricItem item;
  const Batch& batch = fed.batch;
  item.name = batch.names[i];
  for (const auto& [name, value] : batch.inputs.values())
    item.inputs[name] = RtValue(value.tensor()[static_cast<std::int64_t>(i)], value.dtype());
  item.label = batch.labels[i];
  item.length = batch.lengths[i];
  item.token_input = token_input;
  item.targets = batch.targets[i];
  item.placement = batch.placements[i];
  return item;
}

// Most metrics would pass it on, and some would take it for agreement.
void check_numbers(const MetricItem& item) {
  for (const NamedValues* values : {&item.outputs, &item.reference})
    for (const auto& [name, value] : *values)
      QUENCH_CHECK(!value.tensor().is_floating_point() || !value.tensor().isnan().any().item<bool>(),
                   values == &item.outputs ? "the model" : "the float network", " gives NaN for item '", item.name,
                   "'");
}

}  // namespace

MetricRun::MetricRun(const Graph& graph, const Dataset& data, const EvalOptions& options)
    : resamples_(options.resamples) {
  choose(data, options);
  for (One& one : metrics_) {
    one.names = one.metric->outputs();
    for (const std::string& name : one.names) {
      const std::size_t place = with_context([&] { return concat("in the metric '", one.text, "'"); },
                                             [&] { return output_place(graph, name); });
      const auto found = std::find(outputs_.begin(), outputs_.end(), place);
      one.places.push_back(static_cast<std::size_t>(found - outputs_.begin()));
      if (found == outputs_.end()) outputs_.push_back(place);
      if (scores_ && one.metric->need() == MetricNeed::kLabels) check_labels(graph, *graph.outputs()[place], data);
    }
  }
  const std::int64_t rows = std::min(choose_batch(graph, &data, options.batch), data.size());
  for (const std::size_t place : outputs_) check_item_axis(graph, *graph.outputs()[place], rows);
}

MetricRun::~MetricRun() = default;

void MetricRun::choose(const Dataset& data, const EvalOptions& options) {
  scores_ = !options.metrics.empty() || data.task() != Task::kNone;
  QUENCH_CHECK(scores_ || data.target_kind().empty(), "the data has targets (", data.target_kind(),
               "): name the metrics that they are for ('quench list metrics')");
  if (!scores_) {
    metrics_.push_back({"top1", std::make_unique<TopK>(1, "", /*labelled=*/false), nullptr, {}, {}});
    predicts_ = true;
    return;
  }
  for (const std::string& text : options.metrics.empty() ? usual_metrics(data) : options.metrics) {
    for (const One& other : metrics_) QUENCH_CHECK(other.text != text, "the metric '", text, "' is asked for twice");
    const MetricSpec spec = parse_metric(text);
    metrics_.push_back({text, make_metric(spec), &MetricRegistry::instance().get(spec.name), {}, {}});
    check_need(text, *metrics_.back().metric, data, options);
  }
  predicts_ = metrics_[0].text == "top1";
}

bool MetricRun::needs_reference() const {
  return std::any_of(metrics_.begin(), metrics_.end(),
                     [](const One& one) { return one.metric->need() == MetricNeed::kFloat; });
}

void MetricRun::add(const Fed& fed, const std::string& token_input, const std::vector<RtValue>& outputs,
                    const std::vector<RtValue>& reference) {
  const std::vector<at::Tensor> values = on_host(outputs, fed), wanted = on_host(reference, fed);
  for (std::size_t i = 0; i < fed.batch.names.size(); ++i) {
    MetricItem item = item_of(fed, i, token_input);
    MeasuredItem measured{fed.batch.indices[i], item.name, {}};
    for (const One& one : metrics_) {
      item.outputs.clear();
      item.reference.clear();
      for (std::size_t at = 0; at < one.names.size(); ++at) {
        item.outputs[one.names[at]] = of_item(values[one.places[at]], fed, i);
        if (one.metric->need() == MetricNeed::kFloat)
          item.reference[one.names[at]] = of_item(wanted[one.places[at]], fed, i);
      }
      measured.statistics.push_back(with_context([&] { return concat("in the metric '", one.text, "'"); },
                                                 [&] { return one.metric->measure(item); }));
      check_numbers(item);
    }
    items_.push_back(std::move(measured));
  }
}

MetricResult MetricRun::result_of(std::size_t metric, std::vector<ItemStatistic> items) const {
  const One& one = metrics_[metric];
  MetricResult result;
  result.name = one.text;
  result.unit = one.entry->unit;
  result.better = one.entry->better;
  result.items = std::move(items);
  const Metric::ValueOf value = one.metric->combine(result.items);
  result.value = value(std::vector<int>(result.items.size(), 1));
  QUENCH_CHECK(!std::isnan(result.value), "the metric '", one.text,
               "' has no value: there is nothing in the data that it could score");
  result.right = one.metric->right(result.items);
  result.details = one.metric->details(result.items);
  if (result.right)
    result.interval = wilson_interval(*result.right, static_cast<std::int64_t>(result.items.size()));
  else if (resamples_ > 0)
    result.interval = bootstrap_interval(value, result.items.size(), resamples_);
  return result;
}

void MetricRun::finish(EvalResult& result) const {
  for (const MeasuredItem& item : items_) {
    result.indices.push_back(item.index);
    result.names.push_back(item.name);
    if (predicts_) result.predictions.push_back(prediction_of(item.index, item.name, item.statistics[0]));
  }
  result.items = static_cast<std::int64_t>(items_.size());
  if (!scores_ || items_.empty()) return;
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    std::vector<ItemStatistic> items;
    for (const MeasuredItem& item : items_) items.push_back(item.statistics[metric]);
    result.metrics.push_back(result_of(metric, std::move(items)));
  }
}

}  // namespace quench
