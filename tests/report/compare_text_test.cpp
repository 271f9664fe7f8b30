#include "report/compare_text.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

ModelComparison apart_by(double steps) {
  ModelComparison found;
  found.items = 4;
  ValueDifference value;
  value.name = "logits";
  value.step = 0.5;
  value.elements = 40;
  value.largest = value.mean = steps;
  found.values = {value};
  return found;
}

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); }

TEST(CompareText, SaysHowFar) {
  EXPECT_EQ(last_line(compare_text(apart_by(1.234), std::nullopt)), "largest     1.23 steps\n");
  EXPECT_EQ(last_line(compare_text(apart_by(0), 0.0)), "largest     0.00 steps, within the bound of 0\n");
}

// "0.00 steps, beyond the bound of 0".
TEST(CompareText, WhatIsBeyondLooksIt) {
  EXPECT_EQ(last_line(compare_text(apart_by(3e-5), 0.0)), "largest     3e-05 steps, beyond the bound of 0\n");
  EXPECT_EQ(last_line(compare_text(apart_by(1.0000001), 1.0)).find("largest     1.0000001"), 0U);
  EXPECT_EQ(compare_text(apart_by(3e-5), 0.0).find("0.0000"), std::string::npos) << "nor in the table";
}

}  // namespace
}  // namespace quench
