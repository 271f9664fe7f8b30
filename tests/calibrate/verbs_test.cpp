// MQBench's literal calls: the caller's own loop.
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/calibrate.h"
#include "quench/deploy.h"
#include "quench/op.h"
#include "quench/prepare.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor images() { return whole({8, 3, 8, 8}, 5, 6); }

void feed(QuantizedModel& model) {
  for (const at::Tensor& batch : images().split(4)) forward(model, {RtValue(batch)});
}

TEST(Verbs, CalibrateAsCalibrateDoes) {
  for (const char* observer : {"min_max", "mse", "histogram", "kl"}) {
    QuantizedModel by_verbs = quantized_model(observer, true), by_call = quantized_model(observer, true);
    enable_calibration(by_verbs);
    feed(by_verbs);
    enable_quantization(by_verbs);
    calibrate(by_call, TensorData(images()));
    verify(by_verbs, ModelStage::kCalibrated);
    EXPECT_EQ(to_text(by_verbs.graph), to_text(by_call.graph)) << observer;
    EXPECT_EQ(to_yaml(by_verbs.plan), to_yaml(by_call.plan)) << observer;
  }
}

TEST(Verbs, GiveAModelThatDeploys) {
  QuantizedModel model = prepare_by_platform(small_graph(), "onnxruntime");
  enable_calibration(model);
  feed(model);
  enable_quantization(model);
  EXPECT_EQ(deploy(model, {.name = "net"}).files.size(), 2U);
}

// A scale that was raised so that its bias fits stays raised when the weights' quantizers are told to observe too.
TEST(Verbs, KeepRaisedScales) {
  const auto with_large_bias = [] {
    QuantizedModel model = quantized_model("min_max", true);
    at::Tensor weight = model.graph.value("w1").tensor().clone();
    weight[2] *= 1e-12;
    model.graph.set_tensor(model.graph.value("w1"), weight);
    model.graph.set_tensor(model.graph.value("b1"), at::full({4}, 1000.0F));
    return model;
  };
  QuantizedModel by_call = with_large_bias(), by_verbs = with_large_bias();
  EXPECT_FALSE(calibrate(by_call, TensorData(images())).raised.empty());
  enable_calibration(by_verbs);
  feed(by_verbs);
  enable_quantization(by_verbs, true, true);
  EXPECT_EQ(params_of(by_verbs, "w1"), params_of(by_call, "w1"));
}

// An operator is prepared once per executor.
int prepared = 0;
QUENCH_REGISTER_ITEM(OpEntry, "test.Counted", "of a test: the identity",
                     {[](const Node&, const Inputs& in, ExecContext&) { return std::vector<RtValue>{in[0]}; },
                      [](Node& node) { node.output().set_type(node.input(0)->type()); },
                      {},
                      [](const Node&, const Inputs& in) {
                        ++prepared;
                        return Inputs(in.size());
                      }})

TEST(Verbs, KeepOneExecutorUntilTheGraphChanges) {
  QuantizedModel model = quantized_model();
  Node& pool = *model.graph.find_node("pool");
  Node& counted = model.graph.insert_before(pool, "test.Counted", "counted", {pool.input(0)});
  model.graph.set_input(pool, 0, &counted.output());
  prepared = 0;
  enable_calibration(model);
  feed(model);
  EXPECT_EQ(prepared, 1);
  enable_quantization(model);
  feed(model);
  const at::Tensor before = forward(model, {RtValue(images())})[0].tensor();
  EXPECT_EQ(prepared, 2);
  QuantizedModel moved = std::move(model);
  EXPECT_TRUE(forward(moved, {RtValue(images())})[0].tensor().equal(before));
  moved.graph.set_tensor(moved.graph.value("b2"), moved.graph.value("b2").tensor() + 50);
  EXPECT_FALSE(forward(moved, {RtValue(images())})[0].tensor().equal(before));
  EXPECT_EQ(prepared, 4);
}

// While it observes, the network is the float one.
TEST(Verbs, ObservingChangesNothing) {
  QuantizedModel model = quantized_model();
  const Graph graph = small_graph();
  const at::Tensor plain = Executor(graph).run({RtValue(images())})[0].tensor();
  enable_calibration(model);
  EXPECT_TRUE(forward(model, {RtValue(images())})[0].tensor().equal(plain));
  enable_quantization(model);
  const at::Tensor quantized = forward(model, {RtValue(images())})[0].tensor();
  EXPECT_FALSE(quantized.equal(plain));
  disable_all(model);
  EXPECT_TRUE(forward(model, {RtValue(images())})[0].tensor().equal(plain));
}

TEST(Verbs, OneRoleAtATime) {
  QuantizedModel weights = quantized_model();
  enable_calibration_woquantization(weights, Role::kWeight);
  EXPECT_ERROR(enable_quantization(weights), "'x'");  // its activations saw nothing
  QuantizedModel model = quantized_model();
  enable_calibration_woquantization(model, Role::kActivation);
  feed(model);
  enable_quantization(model);
  verify(model, ModelStage::kCalibrated);
}

TEST(Verbs, AQuantizerThatSawNothingIsNamed) {
  QuantizedModel model = quantized_model();
  enable_calibration(model);
  EXPECT_ERROR(enable_quantization(model), "'x', 'relu1', 'relu2'");
  EXPECT_ERROR(verify(model, ModelStage::kCalibrated), "prepared");
}

// Both flags: every forward quantizes by what was seen so far, as a moving average in training does.
TEST(Verbs, ObserveAndQuantizeAtOnce) {
  QuantizedModel model = quantized_model("ema_min_max");
  enable_all(model);
  feed(model);
  const QParams followed = params_of(model, "relu2");
  enable_quantization(model, true, true);
  forward(model, {RtValue(images() * 4)});
  EXPECT_NE(params_of(model, "relu2"), followed);
}

}  // namespace
}  // namespace quench
