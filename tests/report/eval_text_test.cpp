// Results of metrics as people and programs read them.
#include "report/eval_text.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

MetricResult metric(double value, const std::string& unit) {
  MetricResult result;
  result.name = "some";
  result.unit = unit;
  result.value = value;
  result.interval = Interval{value * 0.5, value * 2};
  result.items.resize(4, {0, 1});
  return result;
}

TEST(MetricText, DependsOnTheUnit) {
  EXPECT_EQ(metric_text(metric(0.4, "%")), "40.00 %  (95 % interval 20.00 to 80.00; 4 items)");
  EXPECT_EQ(metric_text(metric(0.000012345678, "")),
            "1.23457e-05  (95 % interval 6.17284e-06 to 2.46914e-05; 4 items)");
  MetricResult plain = metric(3, "dB");
  plain.interval.reset();
  plain.items.resize(1);
  EXPECT_EQ(metric_text(plain), "3 dB  (1 item)");
  plain.right = 1;
  EXPECT_EQ(metric_text(plain), "100.00 %  (1 of 1; 95 % interval 20.65 to 100.00)");
}

TEST(DifferenceText, ShowsTheSign) {
  EXPECT_EQ(difference_text({-0.0025, {-0.005, 0.001}, 0.25}, "%"),
            "-0.25 points (95 % interval -0.50 to +0.10; p = 0.2500)");
  EXPECT_EQ(difference_text({0.5, {0.25, 0.75}, 0.002}, ""), "+0.5 (95 % interval +0.25 to +0.75; p = 0.0020)");
}

TEST(EvalJson, OfChosenMetricsHasThemAlone) {
  EvalResult result;
  result.chosen = true;
  result.task = Task::kClassify;
  result.items = 4;
  result.metrics = {metric(0.5, "%")};
  result.metrics[0].better = MetricBetter::kLower;
  result.metrics[0].details = {{"class 0", 0.25}};
  const Json json = json_of(result);
  EXPECT_EQ(json.at("items"), 4);
  EXPECT_FALSE(json.contains("top1"));
  const Json& found = json.at("metrics").at(0);
  EXPECT_EQ(found.at("value"), 0.5);
  EXPECT_EQ(found.at("low"), 0.25);
  EXPECT_EQ(found.at("high"), 1.0);
  EXPECT_EQ(found.at("better"), "lower");
  EXPECT_EQ(found.at("details").at("class 0"), 0.25);
}

}  // namespace
}  // namespace quench
