// Calibration on quantized activations: every quantizer sees what those before it left of the data.
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/calibrate.h"
#include "quench/prepare.h"

namespace quench {
namespace {

CalibrationOptions on_quantized() {
  CalibrationOptions options;
  options.on_quantized = true;
  options.batch = 4;
  return options;
}

at::Tensor images() { return whole({8, 3, 8, 8}, 5, 6); }

QuantizedModel coarse_model(const std::string& observer) {
  QuantPlan plan;
  plan.entries = {plan_entry("x", "int2 symmetric tensor", observer), plan_entry("w1", "int2 symmetric tensor", "mse"),
                  plan_entry("relu1", "uint8 affine tensor", observer)};
  return insert_quantizers(small_graph(), plan);
}

TEST(OnQuantized, LaterQuantizersSeeQuantizedInputs) {
  QuantizedModel model = coarse_model("min_max"), on_float = coarse_model("min_max");
  calibrate(model, TensorData(images().narrow(0, 0, 4)), on_quantized());
  calibrate(on_float, TensorData(images().narrow(0, 0, 4)));
  // One batch: by hand, the first layer of the calibrated graph with relu1's own quantizer off.
  Graph by_hand = model.graph;
  set_fake_quant_flags(*by_hand.find_node("relu1.fq"), {});
  Executor executor(by_hand);
  const at::Tensor seen = executor.run({{"x", images().narrow(0, 0, 4)}}, {"relu1"}).at("relu1").tensor();
  EXPECT_EQ(params_of(model, "relu1"), qparams_of_range(QScheme::parse("uint8 affine tensor"),
                                                        {seen.min().item<float>()}, {seen.max().item<float>()}));
  EXPECT_NE(params_of(model, "relu1"), params_of(on_float, "relu1"));
  EXPECT_EQ(params_of(model, "x"), params_of(on_float, "x"));
  verify(model, ModelStage::kCalibrated);
}

TEST(OnQuantized, AnObserverThatCannotIsNamed) {
  QuantizedModel model = coarse_model("mse");
  try {
    calibrate(model, TensorData(images()), on_quantized());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'mse' of 'x'"), std::string::npos) << error.what();
  }
}

TEST(OnQuantized, ThoseThatShareJoinAfterTheFirstBatch) {
  QuantPlan plan;
  plan.entries = {plan_entry("relu1", "uint2 affine tensor"), plan_entry("relu2", "uint2 affine tensor")};
  plan.entries[0].shared_with = "relu2";
  QuantizedModel model = insert_quantizers(small_graph(), plan);
  const Graph plain = small_graph();
  calibrate(model, TensorData(images().narrow(0, 0, 4)), on_quantized());
  Executor executor(plain);
  const at::Tensor seen = executor.run({{"x", images().narrow(0, 0, 4)}}, {"relu2"}).at("relu2").tensor();
  EXPECT_EQ(params_of(model, "relu1"), params_of(model, "relu2"));
  EXPECT_EQ(params_of(model, "relu2"),
            qparams_of_range(QScheme::parse("uint2 affine tensor"), {0.0F}, {seen.max().item<float>()}));
}

}  // namespace
}  // namespace quench
