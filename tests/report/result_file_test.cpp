#include "report/result_file.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

PlanEntry entry(const std::string& value) {
  PlanEntry one;
  one.value = value;
  return one;
}

// A Mul after 'x' gives 'x.smooth', which is quantized in its place; 'y' was smoothed without one.
QuantizeRecord smoothed() {
  QuantizeRecord record;
  record.plan.emplace();
  PlanEntry bias = entry("b");
  bias.derived_from = {"x.smooth", "w"};
  record.plan->entries = {entry("x.smooth"), entry("w"), bias, entry("y")};
  record.plan->skipped = {{"x", "the Mul after it is quantized"}, {"z", "not read by a layer"}};
  record.smoothed.emplace();
  record.smoothed->tensors.resize(2);
  record.smoothed->tensors[0].value = "x";
  record.smoothed->tensors[0].quantized = "x.smooth";
  record.smoothed->tensors[0].product = true;
  record.smoothed->tensors[1].value = record.smoothed->tensors[1].quantized = "y";
  return record;
}

TEST(ResultFile, ThePlanFitsTheFloatModel) {
  const QuantPlan plan = plan_of_float_model(smoothed());
  ASSERT_EQ(plan.entries.size(), 4U);
  EXPECT_EQ(plan.entries[0].value, "x");
  EXPECT_EQ(plan.entries[2].derived_from, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(plan.entries[3].value, "y");
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].value, "z");
}

TEST(ResultFile, WithoutSmoothingThePlanIsTheModels) {
  QuantizeRecord record = smoothed();
  record.smoothed.reset();
  EXPECT_EQ(plan_of_float_model(record).entries[0].value, "x.smooth");
}

TEST(ResultFile, SaysWhereItCameFrom) {
  Quantized result;
  result.record.seed = 7;
  const Graph file = result_file(result);
  EXPECT_EQ(file.metadata.at("quench.format"), "1");
  EXPECT_NE(file.metadata.at("quench.record").find("\"seed\":7"), std::string::npos);
}

}  // namespace
}  // namespace quench
