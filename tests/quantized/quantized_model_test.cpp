#include "quench/quantized_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quantized/given_quantizers.h"
#include "support/expect_error.h"

namespace quench {
namespace {

QuantizedModel calibrated_model() {
  QuantizedModel model = quantized_model();
  model.stage = ModelStage::kCalibrated;
  return model;
}

TEST(VerifyModel, TheStageMustBeReached) {
  const QuantizedModel model = quantized_model();
  verify(model, ModelStage::kPrepared);
  EXPECT_ERROR(verify(model, ModelStage::kCalibrated), "the model is prepared, not calibrated", "calibrate it first");
  verify(calibrated_model(), ModelStage::kCalibrated);
  EXPECT_ERROR(verify(calibrated_model(), ModelStage::kTrained), "the model is calibrated, not trained");
}

TEST(VerifyModel, EveryEntryHasItsQuantizer) {
  QuantizedModel model = quantized_model();
  model.plan.entries.push_back(plan_entry("pool", "int8 symmetric tensor"));
  EXPECT_ERROR(verify(model, ModelStage::kPrepared), "the plan quantizes 'pool'", "no quantizer there");
}

TEST(VerifyModel, EveryQuantizerHasItsEntry) {
  QuantizedModel model = quantized_model();
  model.plan.entries.pop_back();
  EXPECT_ERROR(verify(model, ModelStage::kPrepared), "'relu2.fq'", "which the plan does not mention");
}

TEST(VerifyModel, AQuantizerIsWhatItsEntrySays) {
  QuantizedModel scheme = quantized_model(), role = quantized_model(), algorithm = quantized_model();
  scheme.plan.entries[0].scheme = QScheme::parse("int4 symmetric tensor");
  EXPECT_ERROR(verify(scheme, ModelStage::kPrepared), "'x.fq'", "the plan says 'int4 symmetric tensor");
  role.plan.entries[0].role = Role::kWeight;
  EXPECT_ERROR(verify(role, ModelStage::kPrepared), "'x.fq'", "weight");
  algorithm.plan.entries[0].fake_quant = "lsq";
  EXPECT_ERROR(verify(algorithm, ModelStage::kPrepared), "'x.fq'", "lsq");
}

TEST(VerifyModel, AFollowerHasTheConstantsOfItsLeader) {
  QuantizedModel model = quantized_model();
  model.plan.entries[2].shared_with = "relu2";
  EXPECT_ERROR(verify(model, ModelStage::kPrepared), "'relu1.fq'", "share the scale of 'relu2'");
}

TEST(VerifyModel, ScalesMakeSense) {
  QuantizedModel model = calibrated_model();
  model.graph.set_tensor(*model.graph.find_node("relu1.fq")->input(1), at::zeros({}));
  verify(model, ModelStage::kPrepared);
  EXPECT_ERROR(verify(model, ModelStage::kCalibrated), "'relu1.fq'", "positive");
  EXPECT_ERROR(verify({small_graph(), {}, ModelStage::kCalibrated}, ModelStage::kCalibrated), "has no quantizers");
}

TEST(QuantizedModelOf, ReadsWhatWasWritten) {
  const QuantizedModel model = calibrated_model(), again = quantized_model_of(with_plan_text(model));
  EXPECT_EQ(again.stage, ModelStage::kCalibrated);
  EXPECT_EQ(to_text(again.graph), to_text(model.graph));
  EXPECT_EQ(to_yaml(again.plan), to_yaml(model.plan));
}

TEST(QuantizedModelOf, ReadsTheStageOfOlderFiles) {
  Graph file = with_plan_text(quantized_model());
  file.metadata["quench.stage"] = "inserted";
  EXPECT_EQ(quantized_model_of(file).stage, ModelStage::kPrepared);
  file.metadata["quench.stage"] = "insrted";
  EXPECT_ERROR(quantized_model_of(file), "'insrted' is not a stage");
}

TEST(QuantizedModelOf, RefusesAFileThatContradictsItself) {
  EXPECT_ERROR(quantized_model_of(small_graph()), "carries no plan");
  Graph stripped = small_graph(), changed = with_plan_text(calibrated_model()), stageless = changed;
  stripped.metadata = changed.metadata;
  EXPECT_ERROR(quantized_model_of(stripped), "the model has no quantizers, only the plan");
  stageless.metadata.erase("quench.stage");
  EXPECT_ERROR(quantized_model_of(stageless), "does not say how far it has come");
  changed.find_node("x.fq")->attrs["scheme"] = std::string("int4 symmetric tensor");
  EXPECT_ERROR(quantized_model_of(changed), "'x.fq'", "the plan says 'int8 symmetric tensor'");
}

TEST(PlanOfQuantizers, SaysWhatIsThere) {
  const QuantizedModel model = quantized_model("mse");
  QuantPlan written;
  written.platform = "tensorrt";
  written.entries = {model.plan.entries[0], plan_entry("gone", "int8 symmetric tensor")};
  written.entries[0].rule = "input";
  const QuantPlan plan = plan_of_quantizers(model.graph, written);
  EXPECT_EQ(plan.platform, "tensorrt");
  ASSERT_EQ(plan.entries.size(), 5U);
  EXPECT_EQ(plan.find("x")->rule, "input");
  EXPECT_EQ(plan.find("x")->observer, kNoObserver);
  EXPECT_EQ(plan.find("w1")->rule, "the model came with it");
  EXPECT_EQ(plan.find("w1")->scheme.text(), "int8 symmetric channel:0");
  EXPECT_EQ(plan.find("gone"), nullptr);
  verify({model.graph, plan}, ModelStage::kPrepared);
}

}  // namespace
}  // namespace quench
