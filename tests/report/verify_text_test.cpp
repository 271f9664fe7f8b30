#include "report/verify_text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace quench {
namespace {

Criterion criterion(const char* name, bool passed = true) {
  return {name, "'logits'", std::string("found by ") + name, 0.0, 1.0, "onnxruntime", passed};
}

VerifyResult judged(bool codes_passed) {
  VerifyResult result;
  result.file = "net_qdq.onnx";
  result.runtime = "onnxruntime";
  for (const char* name : {"mean_difference", "largest_difference", "beyond_bound", "top1", "accuracy", "quantizers",
                           "model_mean_difference", "model_top1"})
    result.criteria.push_back(criterion(name));
  result.criteria.push_back(criterion("codes", codes_passed));
  result.criteria.push_back(criterion("float_codes"));
  return result;
}

// The lines from "judged" on.
std::vector<std::string> judgement(const std::string& text) {
  std::istringstream lines(text.substr(text.find("judged")));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  return found;
}

// Once a bug: the judgement took a screen where all was well.
TEST(VerifyText, AllIsWellInOneLinePerGroup) {
  const std::vector<std::string> wanted = {
      "judged        ok  as simulated: 4 criteria (bounds: onnxruntime)",
      "              ok  accuracy: 1 criterion (bounds: onnxruntime)",
      "              ok  as the calibrated model: 3 criteria (bounds: onnxruntime)",
      "              ok  codes, layer by layer: 2 criteria (bounds: onnxruntime)",
      "passed (each criterion: VerifyResult::criteria)"};
  EXPECT_EQ(judgement(verify_text(judged(true))), wanted);
}

TEST(VerifyText, DetailsAreThereWhenAskedFor) {
  const std::vector<std::string> lines = judgement(verify_text(judged(true), true));
  EXPECT_EQ(lines.size(), 11u);
  EXPECT_EQ(lines[0], "judged        ok  'logits': found by mean_difference (onnxruntime)");
  EXPECT_EQ(lines.back(), "passed");
}

// All of the group that failed, the others still in one line.
TEST(VerifyText, AFailureIsShownInFull) {
  const std::vector<std::string> lines = judgement(verify_text(judged(false)));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[3], "              NO  'logits': found by codes (onnxruntime)");
  EXPECT_EQ(lines[4], "              ok  'logits': found by float_codes (onnxruntime)");
  EXPECT_EQ(lines[5], "FAILED        'logits': found by codes");
}

// Two outputs: "equal top-1" is of the first, and hid the second.
TEST(VerifyText, WhatDiffersIsShownOfEveryOutput) {
  VerifyResult result = judged(true);
  result.model = "net.quench.onnx";
  result.predictions = result.equal = 40;
  OutputResult first, second, of_model;
  first.name = "logits";
  second.name = "boxes";
  second.largest = of_model.largest = 0.5;
  second.step = of_model.step = 0.25;
  first.predictions = second.predictions = 40;
  second.changed = 3;
  of_model.name = "logits";
  result.outputs = {first, second};
  result.model_outputs = {of_model};
  const std::string text = verify_text(result);
  EXPECT_NE(text.find("'boxes' differs by at most 0.5 (2.0000 steps)"), std::string::npos) << text;
  EXPECT_NE(text.find("another top-1 in 3 of 40"), std::string::npos) << text;
  EXPECT_NE(text.find("'logits' differs from that model's by at most 0.5 (2.0000 steps)"), std::string::npos) << text;
}

// Programs get every criterion, whatever is printed.
TEST(VerifyText, JsonHoldsAllCriteria) { EXPECT_EQ(json_of(judged(true))["criteria"].size(), 10u); }

}  // namespace
}  // namespace quench
