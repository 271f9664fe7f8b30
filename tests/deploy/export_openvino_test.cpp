#include <gtest/gtest.h>

#include "deploy/deployed.h"
#include "graph/tensor_types.h"
#include "quant/reference.h"
#include "support/describe.h"

namespace quench {
namespace {

const Node& quantizer(const Graph& graph, const std::string& name) {
  const Node* node = graph.find_node(name);
  QUENCH_CHECK(node && node->op() == "org.openvinotoolkit.FakeQuantize", "no FakeQuantize '", name, "'");
  return *node;
}

std::vector<std::string> names_of(const Node& node) {
  std::vector<std::string> names;
  for (const Value* input : node.inputs()) names.push_back(input->name());
  return names;
}

// OpenVINO's definition of the operator, in double.
at::Tensor fake_quantize(const Node& node, const at::Tensor& x) {
  const auto end = [&](int slot) { return node.input(slot)->tensor().to(at::kDouble); };
  const at::Tensor low = end(1), high = end(2), steps = at::full({}, node.require_int("levels") - 1, at::kDouble);
  const at::Tensor code = ((x.to(at::kDouble).clamp(low, high) - low) / (high - low) * steps).round();
  return code / steps * (end(4) - end(3)) + end(3);
}

TEST(ExportOpenvino, WritesTheRangesOfTheSimulation) {
  const Graph quantized = calibrated_graph("openvino");
  const Deployment deployment = deployed(quantized);
  ASSERT_EQ(deployment.files.size(), 3U);
  const DeployFile& file = file_of(deployment, "net_deploy_model.onnx");
  EXPECT_EQ(file.opset, 11);
  const Graph& graph = file.model;
  const Node& x = quantizer(graph, "x.fq");
  EXPECT_EQ(names_of(x), (std::vector<std::string>{"x", "input_min_x", "input_max_x", "output_min_x", "output_max_x"}));
  EXPECT_EQ(x.require_int("levels"), 256);
  EXPECT_EQ(x.input(1)->tensor().sizes(), at::IntArrayRef({1}));
  const float s = params_of(quantized, "x").scale[0];  // int8 symmetric: -128..127
  EXPECT_EQ(x.input(1)->tensor().item<float>(), -128 * s);
  EXPECT_EQ(x.input(2)->tensor().item<float>(), 127 * s);
  EXPECT_TRUE(bit_equal(x.input(1)->tensor(), x.input(3)->tensor()));
  EXPECT_TRUE(bit_equal(x.input(2)->tensor(), x.input(4)->tensor()));
  const Node& relu = quantizer(graph, "relu1.fq");  // never below zero: 0..255
  EXPECT_EQ(relu.input(1)->tensor().item<float>(), 0.0F);
  EXPECT_EQ(relu.input(2)->tensor().item<float>(), 255 * params_of(quantized, "relu1").scale[0]);
  EXPECT_EQ(graph.outputs()[0]->name(), "pool");
  EXPECT_FALSE(graph.metadata.contains("quench.plan"));
  for (const Value* constant : graph.constants()) EXPECT_FALSE(constant->uses().empty()) << constant->name();
}

// D37: widened without rounding first, what lies beyond 63 steps would come back.
TEST(ExportOpenvino, RoundsSevenBitWeightsBeforeTheirRangeIsWidened) {
  Graph quantized = calibrated_graph("openvino");
  Value& scale = quantized.value("w1.fq.scale");
  quantized.set_tensor(scale, scale.tensor() / 2);  // so that the largest weights are cut off
  const Graph graph = file_of(deployed(quantized), "net_deploy_model.onnx").model;
  const Node& w1 = quantizer(graph, "w1.fq");
  EXPECT_EQ(w1.require_int("levels"), 256);
  EXPECT_EQ(w1.input(1)->tensor().sizes(), at::IntArrayRef({4, 1, 1, 1}));
  const at::Tensor s = quantized.value("w1.fq.scale").tensor().reshape({4, 1, 1, 1});
  EXPECT_TRUE(at::equal(w1.input(1)->tensor(), -128 * s));
  EXPECT_TRUE(at::equal(w1.input(2)->tensor(), 127 * s));
  const at::Tensor codes = w1.input(0)->tensor() / s;
  EXPECT_EQ(codes.max().item<float>(), 63.0F);
  EXPECT_EQ(codes.min().item<float>(), -64.0F);
  const at::Tensor simulated =
      Executor(quantized).run({}, {"w1.fq"}).at("w1.fq").tensor();  // the value after the quantizer
  // The formula's own rounding: float32 ends over 255 steps, about 2^-23 of 128 s.
  EXPECT_TRUE(at::allclose(fake_quantize(w1, w1.input(0)->tensor()), simulated.to(at::kDouble), 0, 1e-5));
}

TEST(ExportOpenvino, KeepsActivationsOfSevenBits) {
  QuantConfig config;
  config.activation.bits = 7;
  const Graph graph = file_of(deployed(calibrated_graph("openvino", config)), "net_deploy_model.onnx").model;
  EXPECT_EQ(quantizer(graph, "x.fq").require_int("levels"), 128) << "nothing else would cut them off";
}

TEST(ExportOpenvino, QuantizesAsTheSimulationDoes) {
  const Graph quantized = calibrated_graph("mmrazor_openvino");
  const Graph graph = file_of(deployed(quantized), "net_deploy_model.onnx").model;
  const QType type{QScheme::parse("uint8 affine tensor"), params_of(quantized, "x")};
  ASSERT_NE(type.params.zero_point[0], 0) << "the ends are not those of a symmetric range";
  // Between ties, beyond both ends.
  const at::Tensor x = (at::arange(-200, 456, at::kFloat) + 0.3) * type.params.scale[0];
  const at::Tensor expected = fake_quantize_reference(x, type).to(at::kDouble);
  EXPECT_TRUE(at::allclose(fake_quantize(quantizer(graph, "x.fq"), x), expected, 0, 1e-5));
}

TEST(ExportOpenvino, NamesRangesAsMmrazorDoes) {
  const Graph quantized = calibrated_graph("mmrazor_openvino");
  const Deployment deployment = deployed(quantized);
  const DeployFile& file = file_of(deployment, "net_deploy_model.onnx");
  EXPECT_EQ(file.opset, 11);
  const Node& w1 = quantizer(file.model, "w1.fq");
  EXPECT_EQ(names_of(w1),
            (std::vector<std::string>{"w1", "w1_input_min", "w1_input_max", "w1_output_min", "w1_output_max"}));
  EXPECT_EQ(w1.require_int("levels"), 255) << "-127..127";
  EXPECT_TRUE(at::equal(w1.input(1)->tensor(), -w1.input(2)->tensor()));
}

TEST(ExportOpenvino, RefusesWhatFakeQuantizeCannotSay) {
  QuantPlan plan;
  plan.platform = "openvino";
  plan.entries = {plan_entry("x", "e4m3fn tensor")};
  Graph graph = small_graph();
  QuantizedModel model = insert_quantizers(graph, plan);
  calibrate(model, TensorData(whole({8, 3, 8, 8}, 5, 9)), {});
  graph = with_plan_text(model);
  Deployment deployment;
  const DeployJob job{graph, "openvino", "net", 0, false, {}};
  const std::string message = message_of([&] { ExporterRegistry::instance().get("openvino").write(job, deployment); });
  EXPECT_NE(message.find("'e4m3fn tensor' has no FakeQuantize"), std::string::npos) << message;
  EXPECT_NE(message.find("x.fq"), std::string::npos) << message;
}

}  // namespace
}  // namespace quench
