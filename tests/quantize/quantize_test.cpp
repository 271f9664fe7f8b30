#include "quench/quantize.h"

#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/platform.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const TensorData& items() {
  static const TensorData data(whole({8, 3, 8, 8}, 5, 6));
  return data;
}

JobConfig job() {
  JobConfig config;
  config.quant.platform = "onnxruntime";
  return config;
}

TEST(QuantizeCall, GivesACalibratedModelAndItsRecord) {
  const Quantized result = quantize(small_graph(), items(), job());
  verify(result.model, ModelStage::kCalibrated);
  EXPECT_EQ(result.record.calibration->images, 8);
  EXPECT_EQ(to_yaml(*result.record.plan), to_yaml(result.model.plan));
}

// What only the command line refused would run as plain calibration here.
TEST(QuantizeCall, RefusesWhatIsNotBuilt) {
  JobConfig config = job();
  config.method.name = "adaround";
  EXPECT_ERROR(quantize(small_graph(), items(), config), "adaround");
}

TEST(QuantizeCall, APlanIsForItsPlatform) {
  QuantizeOptions options;
  options.plan = make_plan(small_graph(), job().quant);
  options.plan_name = "mine";
  EXPECT_NO_THROW(quantize(small_graph(), items(), job(), options));
  JobConfig other = job();
  other.quant.platform = "tensorrt";
  EXPECT_ERROR(quantize(small_graph(), items(), other, options), "the plan mine is for platform 'onnxruntime'");
}

TEST(QuantizeCall, NeedsAPlatformAndData) {
  EXPECT_ERROR(quantize(small_graph(), items(), JobConfig{}), "no platform");
  EXPECT_ERROR(quantize(small_graph(), QuantizeData{}, job()), "no data to calibrate on");
}

TEST(QuantizeCall, RefusesWhatIsQuantizedAlready) {
  EXPECT_ERROR(quantize(quantized_model().graph, items(), job()), "already quantized");
}

}  // namespace
}  // namespace quench
