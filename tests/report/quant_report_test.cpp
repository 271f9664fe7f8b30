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

// Issue 14: 52 tensors inside fused layers drowned the few that a user can do something about.
TEST(QuantReport, TensorsInsideFusedLayersAreCountedOnly) {
  EXPECT_EQ(float_part_of(plan_with(52)),
            "no rule of 'onnxruntime' quantizes it\n  mean\npart of a GELU\n  gelu\n  erf\n"
            "and 52 tensors inside fused layers, which the plan names\n");
  EXPECT_NE(plan_summary(plan_with(52)).find("  3 tensors stay float (not counting 52 inside fused layers)\n"),
            std::string::npos);
  EXPECT_NE(plan_summary(plan_with(0)).find("  3 tensors stay float\n"), std::string::npos);
}

TEST(QuantReport, NothingStaysFloat) { EXPECT_EQ(float_part_of({}), "nothing\n"); }

}  // namespace
}  // namespace quench
