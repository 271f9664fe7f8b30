#include "quench/calibrate.h"

#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const at::Tensor& images() {
  static const at::Tensor all = whole({10, 3, 8, 8}, 5, 6);
  return all;
}

CalibrationOptions batches_of(std::int64_t batch) {
  CalibrationOptions options;
  options.batch = batch;
  return options;
}

// What an observer finds that is shown the plain float value, batch by batch.
QParams by_hand(const QuantizedModel& model, const std::string& value, std::int64_t batch) {
  const Graph graph = small_graph();
  Executor executor(graph);
  const std::unique_ptr<Observer> observer = observer_of(model, *quantizer_of(model.graph, value));
  if (graph.value(value).is_constant())
    observer->observe(graph.value(value).tensor());
  else
    for (const at::Tensor& part : images().split(batch))
      observer->observe(executor.run({{"x", part}}, {value}).at(value).tensor());
  return observer->qparams();
}

class CalibrateWith : public testing::TestWithParam<std::string> {};

TEST_P(CalibrateWith, FindsWhatObservingEachTensorByHandFinds) {
  QuantizedModel model = quantized_model(GetParam());
  const CalibrationRecord record = calibrate(model, TensorData(images()), batches_of(4));
  EXPECT_EQ(record.items, 10);
  const bool by_batch = GetParam().starts_with("ema_");
  EXPECT_EQ(record.batches, by_batch ? 3 : 5);
  EXPECT_EQ(record.batch, by_batch ? 4 : 2) << "few items are cut into several slices";
  ASSERT_EQ(record.quantizers.size(), 5U);
  for (const QuantizerRecord& found : record.quantizers) {
    EXPECT_EQ(found.params, by_hand(model, found.value, 4)) << found.value;
    EXPECT_EQ(found.params, params_of(model, found.value)) << found.value;
  }
}

INSTANTIATE_TEST_SUITE_P(Observers, CalibrateWith,
                         testing::Values("min_max", "ema_min_max", "ema_quantile", "mse", "kl", "histogram"));

TEST(Calibrate, SaysOverHowManyBatchesItAveraged) {
  QuantizedModel model = quantized_model("ema_min_max"), large = quantized_model("ema_min_max"),
                 set = quantized_model("mse");
  const std::vector<std::string> notes = calibrate(model, TensorData(images()), batches_of(4)).notes;
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0], "3 observers average over 3 batches of 4 items");
  EXPECT_EQ(notes[1],
            "warning: batches of 4 are below the reference's 32: averaged ranges come out narrower, and accuracy "
            "may drop");
  EXPECT_EQ(calibrate(large, TensorData(images()), batches_of(32)).notes.size(), 1U);
  EXPECT_TRUE(calibrate(set, TensorData(images()), batches_of(4)).notes.empty());
}

// 10 items in a model that takes 4: two copies pad the last batch, and neither averages nor counts see them.
TEST(Calibrate, CopiesThatFillUpAFixedBatchDoNotCount) {
  for (const char* observer : {"ema_min_max", "ema_quantile", "mse", "percentile", "lsq"}) {
    QuantizedModel open = quantized_model(observer), fixed = quantized_model(observer);
    fixed.graph.inputs()[0]->set_type(TypeInfo::tensor(DType::kFloat, {Dim(4), Dim(3), Dim(8), Dim(8)}));
    run_passes(fixed.graph, {"infer_shapes"});
    const CalibrationRecord wanted = calibrate(open, TensorData(images()), batches_of(4));
    const CalibrationRecord found = calibrate(fixed, TensorData(images()));
    EXPECT_EQ(found.items, 10);
    for (std::size_t i = 0; i < wanted.quantizers.size(); ++i)
      EXPECT_EQ(found.quantizers[i].params, wanted.quantizers[i].params)
          << observer << " of " << found.quantizers[i].value;
  }
}

TEST(Calibrate, LeavesQuantizersOnAndCalibrated) {
  QuantizedModel model = quantized_model();
  EXPECT_ERROR(verify(model, ModelStage::kCalibrated), "the model is prepared, not calibrated");
  calibrate(model, TensorData(images()));
  verify(model, ModelStage::kCalibrated);
  for (const auto& node : model.graph.nodes()) {
    if (node->op() != "quench.FakeQuant") continue;
    EXPECT_TRUE(fake_quant_flags(*node).quantize) << node->name();
    EXPECT_FALSE(fake_quant_flags(*node).observe) << node->name();
  }
}

TEST(Calibrate, WeightsNeedNoData) {
  QuantPlan plan;
  plan.entries = {plan_entry("w1", "int8 symmetric channel:0")};
  QuantizedModel model = insert_quantizers(small_graph(), plan);
  EXPECT_EQ(calibrate(model, TensorData(images())).items, 0);
  EXPECT_EQ(params_of(model, "w1"), by_hand(model, "w1", 32));
}

TEST(Calibrate, AQuantizerThatCameWithItsScaleKeepsIt) {
  QuantizedModel model = quantized_model();
  model.plan.entries[2].observer = kNoObserver;
  EXPECT_ERROR(calibrate(model, TensorData(images())), "'relu1.fq'", "neither a scale nor an observer");
  model.stage = ModelStage::kCalibrated;
  EXPECT_EQ(calibrate(model, TensorData(images())).quantizers.size(), 4U);
  EXPECT_EQ(params_of(model, "relu1").scale, std::vector<float>{1.0F});
}

TEST(Calibrate, OneImageSuffices) {
  QuantizedModel model = quantized_model("mse");
  const CalibrationRecord record = calibrate(model, TensorData(images().narrow(0, 0, 1)));
  EXPECT_EQ(record.items, 1);
  verify(model, ModelStage::kCalibrated);
}

TEST(Calibrate, LeavesACopyOfTheGraphAlone) {
  QuantizedModel model = quantized_model();
  const Graph before = model.graph;
  calibrate(model, TensorData(images()));
  EXPECT_NE(params_of(model, "x"), params_of(before, "x"));
  EXPECT_EQ(params_of(before, "x").scale, std::vector<float>{1.0F});
}

TEST(Calibrate, GivesTheSameBitsTwice) {
  QuantizedModel first = quantized_model("histogram"), second = quantized_model("histogram");
  calibrate(first, TensorData(images()), batches_of(3));
  calibrate(second, TensorData(images()), batches_of(3));
  EXPECT_EQ(to_text(first.graph), to_text(second.graph));
}

TEST(Calibrate, TakesAsManyBatchesAsAsked) {
  QuantizedModel model = quantized_model(), of_part = quantized_model();
  CalibrationOptions options = batches_of(4);
  options.batches = 2;
  EXPECT_EQ(calibrate(model, TensorData(images()), options).items, 8);
  calibrate(of_part, TensorData(images().narrow(0, 0, 8)), batches_of(4));
  EXPECT_EQ(to_text(model.graph), to_text(of_part.graph));
}

TEST(Calibrate, SkipsBrokenItemsWhereAllowed) {
  QuantizedModel model = quantized_model();
  EXPECT_ERROR(calibrate(model, TensorData(images(), 3)), "this item is broken", "item 3");
  CalibrationOptions options;
  options.skip_broken = true;
  const CalibrationRecord record = calibrate(model, TensorData(images(), 3), options);
  EXPECT_EQ(record.items, 9);
  ASSERT_EQ(record.skipped.size(), 1U);
  EXPECT_NE(record.skipped[0].find("broken"), std::string::npos) << record.skipped[0];
}

TEST(Calibrate, RefusesDataOfWhichNothingIsLeft) {
  QuantizedModel model = quantized_model();
  CalibrationOptions options;
  options.skip_broken = true;
  EXPECT_ERROR(calibrate(model, TensorData(images().narrow(0, 0, 1), 0), options), "no item of the data could be used",
               "1 broken");
}

TEST(Calibrate, QuantizersThatShareTakeTheLeadersScale) {
  QuantPlan plan;
  plan.entries = {plan_entry("relu1", "uint8 affine tensor"), plan_entry("relu2", "uint8 affine tensor")};
  plan.entries[0].shared_with = "relu2";
  QuantizedModel model = insert_quantizers(small_graph(), plan);
  const CalibrationRecord record = calibrate(model, TensorData(images()));
  ASSERT_EQ(record.quantizers.size(), 1U);
  EXPECT_EQ(record.quantizers[0].value, "relu2");
  EXPECT_EQ(params_of(model, "relu1"), by_hand(model, "relu2", 32));
  EXPECT_EQ(params_of(model, "relu1"), params_of(model, "relu2"));
  verify(model, ModelStage::kCalibrated);
}

}  // namespace
}  // namespace quench
