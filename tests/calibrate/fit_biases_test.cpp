#include "calibrate/fit_biases.h"

#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/calibrate.h"

namespace quench {
namespace {

at::Tensor images() { return whole({4, 3, 8, 8}, 5, 6); }

// Channel 2 of w1 is so small that its bias of 1000 would need far more than 2^30 steps.
QuantizedModel with_tiny_channel() {
  QuantizedModel model = quantized_model("min_max", true);
  Graph& graph = model.graph;
  at::Tensor weight = graph.value("w1").tensor().clone();
  weight[2] *= 1e-12;
  graph.set_tensor(graph.value("w1"), weight);
  graph.set_tensor(graph.value("b1"), at::full({4}, 1000.0F));
  return model;
}

TEST(FitBiases, RaisesTheScaleOfTheChannelAlone) {
  QuantizedModel model = with_tiny_channel();
  const CalibrationRecord record = calibrate(model, TensorData(images()));
  EXPECT_EQ(record.raised, std::vector<std::string>{"'w1': channels 2"});
  const float x_scale = params_of(model, "x").scale[0];
  const std::vector<float> scale = params_of(model, "w1").scale;
  const double steps = 1000.0 / (static_cast<double>(x_scale) * scale[2]);
  EXPECT_LE(steps, 1073741824.0 * (1 + 1e-6));  // the float32 product of the two may round down by 6e-8
  EXPECT_GT(steps, 1073741824.0 * (1 - 1e-6));
  QuantizedModel plain = quantized_model("min_max", true);
  EXPECT_TRUE(calibrate(plain, TensorData(images())).raised.empty());
  for (const std::size_t channel : {0U, 1U, 3U})
    EXPECT_EQ(scale[channel], params_of(plain, "w1").scale[channel]) << channel;
}

TEST(FitBiases, ThePlanSaysSo) {
  QuantizedModel model = with_tiny_channel();
  calibrate(model, TensorData(images()));
  const QuantPlan& plan = model.plan;
  EXPECT_EQ(plan.find("w1")->rule, "; channels 2 raised so that the int32 bias fits");
  EXPECT_EQ(plan.find("w2")->rule, "");
}

TEST(FitBiases, ChangesNothingTheSecondTime) {
  QuantizedModel model = with_tiny_channel();
  calibrate(model, TensorData(images()));
  EXPECT_TRUE(fit_biases(model).empty());
}

TEST(FitBiases, TheRecordHoldsTheRaisedScale) {
  QuantizedModel model = with_tiny_channel();
  for (const QuantizerRecord& one : calibrate(model, TensorData(images())).quantizers)
    EXPECT_EQ(one.params, params_of(model, one.value)) << one.value;
}

}  // namespace
}  // namespace quench
