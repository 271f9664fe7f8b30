// Metrics by name and options; what ratios share; a metric that registers itself here, as a plug-in's would.
#include "quench/metric.h"

#include <cmath>

#include "measure/metric_items.h"
#include "quench/evaluate.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// The largest element of the output, averaged over the items, times a factor.
class Largest : public RatioMetric {
 public:
  explicit Largest(const Options& options) : factor_(options.number("factor")), words_(options.word("words")) {}
  MetricNeed need() const override { return MetricNeed::kLabels; }
  ItemStatistic measure(const MetricItem& item) const override {
    return {factor_ * item.outputs.at("").tensor().max().item<double>(), 1.0};
  }
  double factor_;
  std::string words_;
};
QUENCH_REGISTER_METRIC("test_largest", Largest, "of the output", "", MetricBetter::kLower,
                       {"factor", 1.0, "times this"}, {"words", std::string("a,b"), "some words"})

TEST(ParseMetric, ReadsOptionsOfTheirTypes) {
  const MetricSpec spec = parse_metric("test_largest:words=0.5,0.75,factor=2");
  EXPECT_EQ(spec.name, "test_largest");
  EXPECT_EQ(spec.options.word("words"), "0.5,0.75");  // a part without '=' goes on
  EXPECT_EQ(spec.options.number("factor"), 2.0);
  EXPECT_EQ(parse_metric("test_largest").options.word("words"), "a,b");
}

TEST(ParseMetric, SaysWhatIsWrong) {
  EXPECT_ERROR(parse_metric("top6"), "unknown metric 'top6'; did you mean");
  EXPECT_ERROR(parse_metric("top6"), "agreement");  // the list
  EXPECT_ERROR(parse_metric("mse:outptu=x"), "unknown option 'outptu' of metric 'mse'; did you mean 'output'?");
  EXPECT_ERROR(parse_metric("topk:k=five"), "option 'k' of metric 'topk' must be a number, not 'five'");
  EXPECT_ERROR(parse_metric("topk:5"), "option '5' of metric 'topk' is not of the form key=value");
  EXPECT_ERROR(parse_metric("topk:k=5,output=x,k=6"), "option 'k' of metric 'topk' is given twice");
  EXPECT_ERROR(make_metric(parse_metric("topk:k=0.5")), "option 'k' must be a whole number, not 0.5",
               "in the metric 'topk'");
  EXPECT_ERROR(make_metric(parse_metric("topk:k=1e300")), "option 'k' must be a whole number, not 1e+300");
}

// Each would be cut to a whole number without a word.
TEST(ParseMetric, FractionsAreNoCountsAndNoSwitches) {
  for (const char* metric : {"topk:k=1.5", "agreement:axis=0.5", "miou:classes=2.5", "miou:ignore_index=0.1",
                             "map:max_dets=9.5", "map:offset=0.5", "cer:blank=0.5", "wer:end=1.5"})
    EXPECT_ERROR(metric_of(metric), "must be a whole number, not ");
  for (const char* metric : {"map:normalized=2", "cer:ctc=0.5"})
    EXPECT_ERROR(metric_of(metric), "must be 0 or 1, not ");
  EXPECT_ERROR(metric_of("topk:k=0"), "option 'k' must be at least 1, not 0");
  EXPECT_ERROR(metric_of("map:max_dets=0"), "option 'max_dets' must be at least 1, not 0");
  EXPECT_ERROR(metric_of("miou:classes=-1"), "option 'classes' must be at least 0, not -1");
}

TEST(WholeNumbers, RefusesFractions) {
  EXPECT_TRUE(whole_numbers(at::tensor({1.0F, -2.0F}), "x").equal(at::tensor({1, -2}, at::kLong)));
  EXPECT_TRUE(whole_numbers(at::tensor({1, 2}, at::kByte), "x").equal(at::tensor({1, 2}, at::kLong)));
  EXPECT_ERROR(whole_numbers(at::tensor({1.0, 2.5}), "labels"), "labels must be whole numbers, but one is 2.5");
  EXPECT_ERROR(whole_numbers(at::full({1}, NAN), "labels"), "labels must be whole numbers, but one is nan");
}

TEST(RatioMetric, DividesSumsAndCountsItemsAsOftenAsTheyAreDrawn) {
  const auto metric = metric_of("test_largest:factor=2");
  const std::vector<ItemStatistic> items = {{1, 1}, {2, 1}, {9, 3}};
  const Metric::ValueOf value = metric->combine(items);
  EXPECT_DOUBLE_EQ(value({1, 1, 1}), 12.0 / 5);
  EXPECT_DOUBLE_EQ(value({0, 3, 1}), 15.0 / 6);
  EXPECT_TRUE(std::isnan(value({0, 0, 0})));
}

TEST(NumbersOf, ReadsAList) {
  EXPECT_EQ(numbers_of("0.5,0.75", "iou"), (std::vector<double>{0.5, 0.75}));
  EXPECT_ERROR(numbers_of("0.5,x", "iou"), "iou must be a list of numbers such as 0.5,0.75, not '0.5,x'");
}

TEST(TargetOf, IsTheOnlyOneOrTheNamedOne) {
  MetricItem item = item_with_target(at::ones({2}), at::zeros({2}));
  EXPECT_EQ(target_of(item, "").sum().item<double>(), 0);
  item.targets["other"] = at::ones({2});
  EXPECT_EQ(target_of(item, "other").sum().item<double>(), 2);
  EXPECT_ERROR(target_of(item, ""), "item 'item' has several targets ('other', 'target'): choose one with target=NAME");
  EXPECT_ERROR(target_of(item, "x"), "item 'item' has no target 'x'; it has 'other', 'target'");
  item.targets.clear();
  EXPECT_ERROR(target_of(item, ""), "item 'item' has no targets");
}

Graph two_outputs() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3}));
  graph.add_output(graph.add("Relu", "y", {&x}).output());
  graph.add_output(graph.add("Neg", "z", {&x}).output());
  return graph;
}

std::unique_ptr<Dataset> labelled() {
  return dataset_of({at::tensor({1.0F, 2.0F, 0.0F}), at::tensor({4.0F, 1.0F, 0.0F}), at::tensor({0.0F, 6.0F, 7.0F})},
                    {1, 0, 0});
}

TEST(Evaluate, MeasuresByAMetricOfOnesOwn) {
  EvalOptions options;
  options.metrics = {"test_largest:factor=2", "top1"};
  const EvalResult result = evaluate(two_outputs(), *labelled(), options);
  ASSERT_EQ(result.metrics.size(), 2U);
  EXPECT_TRUE(result.chosen);
  EXPECT_EQ(result.items, 3);
  EXPECT_DOUBLE_EQ(result.metric("test_largest:factor=2").value, 2 * (2 + 4 + 7) / 3.0);
  EXPECT_DOUBLE_EQ(result.metrics[0].score(), -2 * (2 + 4 + 7) / 3.0);  // lower is better
  ASSERT_TRUE(result.metrics[0].interval);
  EXPECT_GE(result.metrics[0].interval->low, 4.0);
  EXPECT_LE(result.metrics[0].interval->high, 14.0);
  EXPECT_EQ(result.metric("top1").right, 2);
  EXPECT_ERROR(result.metric("top5"), "the metric 'top5' was not measured; measured: test_largest:factor=2, top1");
}

TEST(Evaluate, ReadsTheOutputThatAMetricNames) {
  EvalOptions options;
  options.metrics = {"top1:output=z"};  // the least of each row
  EXPECT_DOUBLE_EQ(evaluate(two_outputs(), *labelled(), options).metrics[0].value, 1.0 / 3);
  options.optimize = true;
  EXPECT_DOUBLE_EQ(evaluate(two_outputs(), *labelled(), options).metrics[0].value, 1.0 / 3);
}

TEST(Evaluate, ComparesWithAReference) {
  const Graph graph = two_outputs();
  Graph other;
  Value& x = other.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3}));
  other.add_output(other.add("Neg", "z", {&x}).output());
  EvalOptions options;
  options.metrics = {"agreement", "mse:to=float"};
  options.reference = &other;
  const EvalResult result = evaluate(graph, *labelled(), options);
  EXPECT_DOUBLE_EQ(result.metrics[0].value, 0.0);
  // y - z is 2 x: the squares of 2, 4, 0, 8, 2, 0, 0, 12, 14.
  EXPECT_DOUBLE_EQ(result.metrics[1].value, (4 + 16 + 64 + 4 + 144 + 196) / 9.0);
}

TEST(Evaluate, NaNIsNoResult) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3}));
  graph.add_output(graph.add("Sqrt", "y", {&x}).output());
  EvalOptions options;
  options.metrics = {"agreement"};
  options.reference = &graph;  // NaN in both would pass for agreement
  const auto data = dataset_of({at::tensor({1.0F, 2.0F, 0.0F}), at::tensor({4.0F, -1.0F, 0.0F})}, {1, 0});
  EXPECT_ERROR(evaluate(graph, *data, options), "gives NaN for item '1'");
}

TEST(Evaluate, RefusesMetricsThatTheDataCannotServe) {
  const Graph graph = two_outputs();
  const auto check = [&](const std::string& metric, const Dataset& data) {
    EvalOptions options;
    options.metrics = {metric};
    check_evaluates(graph, data, options);
  };
  const auto unlabelled = dataset_of({at::ones({3})});
  EXPECT_ERROR(check("top1", *unlabelled), "the metric 'top1' needs labels, which the data does not have");
  EXPECT_ERROR(check("perplexity", *labelled()),
               "the metric 'perplexity' needs texts (the kind of data 'tokens'), which the data is not");
  EXPECT_ERROR(
      check("mse", *labelled()),
      "the metric 'mse' needs targets, which the data does not have: give it targets=KIND:PATH (docs/data.md)");
  EXPECT_ERROR(
      check("agreement", *labelled()),
      "the metric 'agreement' compares with the float network, and there is none: the model has no quantizers");
  EXPECT_ERROR(check("top1:output=yy", *labelled()), "unknown output 'yy' of the model; did you mean");
  EvalOptions twice;
  twice.metrics = {"top1", "top1"};
  EXPECT_ERROR(check_evaluates(graph, *labelled(), twice), "the metric 'top1' is asked for twice");
}

TEST(CompareResults, TakesMcNemarForSharesAndDrawsForTheRest) {
  EvalOptions options;
  options.metrics = {"top1", "test_largest"};
  const EvalResult a = evaluate(two_outputs(), *labelled(), options);
  const EvalResult same = evaluate(two_outputs(), *labelled(), options);
  const PairedDifference equal = compare_results(a, same, "top1");
  EXPECT_EQ(equal.difference, 0);
  EXPECT_EQ(equal.p_value, 1.0);
  EXPECT_LT(equal.interval.low, 0);  // Bonett and Price's, not the draws', which would all be 0
  const PairedDifference drawn = compare_results(a, same, "test_largest");
  EXPECT_EQ(drawn.interval.low, 0);
  EXPECT_EQ(drawn.interval.high, 0);
  EvalResult fewer = same;
  fewer.indices.pop_back();
  --fewer.items;
  EXPECT_ERROR(compare_results(a, fewer, "top1"), "the two runs are not of the same items (3 and 2)");
}

}  // namespace
}  // namespace quench
