#include <gtest/gtest.h>

#include "report/plan_json.h"
#include "report/quantize_record.h"

namespace quench {
namespace {

QuantPlan plan_with(int inside) {
  QuantPlan plan;
  plan.platform = "onnxruntime";
  plan.skipped = {
      {"gelu", "part of a GELU"}, {"erf", "part of a GELU"}, {"mean", "no rule of 'onnxruntime' quantizes it"}};
  for (int i = 0; i < inside; ++i)
    plan.skipped.push_back({"conv" + std::to_string(i), std::string(PlanSkip::kInside) + " 'conv'"});
  return plan;
}

std::string float_part_of(const QuantPlan& plan) {
  QuantizeRecord record;
  record.plan = plan;
  const std::string text = report_text(record), title = "What stays float, and why\n-------------------------\n";
  const std::size_t begin = text.find(title) + title.size();
  return text.substr(begin, text.find("\nTime and memory") - begin);
}

// Once a bug: 52 tensors inside fused layers drowned the few that a user can do something about.
TEST(QuantReport, TensorsInsideFusedLayersAreCountedOnly) {
  EXPECT_EQ(float_part_of(plan_with(52)),
            "no rule of 'onnxruntime' quantizes it\n  mean\npart of a GELU\n  gelu\n  erf\n"
            "and 52 tensors inside fused layers, which the plan names\n");
  EXPECT_NE(plan_summary(plan_with(52)).find("  3 tensors stay float\n"), std::string::npos);
  EXPECT_NE(plan_summary(plan_with(0)).find("  3 tensors stay float\n"), std::string::npos);
}

std::string summary_of(const QuantPlan& plan) {
  const std::string text = plan_summary(plan);
  return text.substr(text.find('\n') + 1);
}

TEST(QuantReport, PluralsFitTheirNumbers) {
  QuantPlan plan = plan_with(2);
  plan.skipped.erase(plan.skipped.begin(), plan.skipped.begin() + 2);
  EXPECT_EQ(summary_of(plan), "  1 tensor stays float\n");
  plan.skipped.erase(plan.skipped.begin());
  EXPECT_EQ(summary_of(plan), "  no tensor stays float\n");
  QuantizeRecord record;
  record.item = "text";
  record.calibration.emplace().items = 1;
  record.corrected.emplace().items = 2;
  record.corrected->layers.resize(1);
  record.trained.emplace().steps = 1;
  record.trained->epochs.resize(1);
  const std::string text = summary_text(record);
  EXPECT_NE(text.find("calibrated  on 1 text in "), std::string::npos) << text;
  EXPECT_NE(text.find("corrected   the biases of 1 layer on 2 texts\n"), std::string::npos) << text;
  EXPECT_NE(text.find("trained     1 step, 1 epoch, in "), std::string::npos) << text;
}

TEST(QuantReport, NamesWhatWasSkipped) {
  QuantizeRecord record;
  record.calibration.emplace().skipped = {"a.jpg: broken", "b.jpg: broken"};
  record.float_eval.emplace().skipped = {"b.jpg: broken", "c.jpg: broken"};
  const std::string few = summary_text(record);
  EXPECT_NE(few.find("skipped     a.jpg: broken\nskipped     b.jpg: broken\nskipped     c.jpg: broken\n"),
            std::string::npos)
      << few;
  record.calibration->skipped.assign(9, "same");
  const std::string many = summary_text(record);
  EXPECT_NE(many.find("skipped     same\nskipped     6 more, which record.json names\n"), std::string::npos) << many;
}

// A change takes a thousand draws to compute: text and JSON show the one that the record holds, here one that no
// computation would give.
TEST(QuantReport, ShowsChangesAsTheRecordHasThem) {
  QuantizeRecord record;
  for (auto* result : {&record.float_eval, &record.quantized_eval}) {
    result->emplace().chosen = true;
    (*result)->metrics.resize(1);
    (*result)->metrics[0].name = "miou";
    (*result)->metrics[0].unit = "%";
    (*result)->metrics[0].items = {{1, 1, 1}};
  }
  record.changes = {{"miou", {0.25, {0.125, 0.5}, 0.75}}};
  const std::string text = summary_text(record);
  EXPECT_NE(text.find("change      +25.00 points (95 % interval +12.50 to +50.00; p = 0.7500)\n"), std::string::npos)
      << text;
  EXPECT_EQ(json_of(record).at("changes").at(0).at("difference"), 0.25);
}

// Predictions of ten items, of which `right` are.
EvalResult evaluated(int right) {
  EvalResult result;
  result.task = Task::kClassify;
  result.items = 10;
  for (const char* name : {"top1", "top5"}) {
    MetricResult metric;
    metric.name = name;
    metric.unit = "%";
    metric.value = right / 10.0;
    metric.right = right;
    metric.items.resize(10);
    result.metrics.push_back(metric);
  }
  result.model_seconds = 1.0;
  for (int i = 0; i < 10; ++i) {
    Prediction one;
    one.index = i;
    one.label = 1;
    one.first = i < right ? 1 : 0;
    result.predictions.push_back(one);
  }
  return result;
}

std::string change_line(int before, int after) {
  QuantizeRecord record;
  record.float_eval = evaluated(before);
  record.quantized_eval = evaluated(after);
  const std::string text = summary_text(record);
  const std::size_t end = text.find(" points"), begin = text.rfind('\n', end) + 1;
  return text.substr(begin, end - begin);
}

TEST(QuantReport, AGainIsNoNegativeDrop) {
  EXPECT_EQ(change_line(8, 7), "drop        10.00");
  EXPECT_EQ(change_line(7, 7), "drop        0.00");
  EXPECT_EQ(change_line(7, 9), "gain        20.00");
}

TEST(QuantReport, NothingStaysFloat) { EXPECT_EQ(float_part_of({}), "nothing\n"); }

}  // namespace
}  // namespace quench
