// The Q/DQ forms of MQBench and mmrazor, operators on codes beside Q/DQ, and platforms without files.
#include <gtest/gtest.h>

#include "deploy/deployed.h"
#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "quench/platform.h"
#include "support/describe.h"

namespace quench {
namespace {

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (const auto& node : graph.nodes()) found += node->op() == op ? 1 : 0;
  return found;
}

TEST(ExportForms, OfMqbenchIsBarePairs) {
  const Graph quantized = calibrated_graph("qdq");
  const Deployment deployment = deployed(quantized);
  ASSERT_EQ(deployment.files.size(), 2U);
  EXPECT_EQ(deployment.files[0].name, "net_quantizers.onnx");
  const DeployFile& file = file_of(deployment, "net_qdq.onnx");
  EXPECT_EQ(file.opset, 13);
  const Graph graph = read_back(file);
  EXPECT_EQ(count(graph, "QuantizeLinear"), count(graph, "DequantizeLinear") - 2) << "two weights are codes already";
  EXPECT_EQ(count(graph, "Clip"), 0) << "bare pairs";
  EXPECT_EQ(graph.find_node("w1_dequantized")->get_int("axis", 1), 0);
  EXPECT_EQ(graph.value("x_zero_point").dtype(), DType::kInt8);
  ASSERT_EQ(deployment.notes.size(), 1U);
  EXPECT_NE(deployment.notes[0].find("-128"), std::string::npos);
  const at::Tensor x = whole({4, 3, 8, 8}, 11, 9);
  const auto run = [&](const Graph& one) { return Executor(one).run({RtValue(x)})[0].tensor(); };
  EXPECT_TRUE(bit_equal(run(graph), run(quantized)));
}

TEST(ExportForms, OfMqbenchKeepOffTheLowestCodeWhereAsked) {
  const Deployment deployment = deployed(calibrated_graph("qdq"), "", {{"clip_lowest", 1.0}});
  const Graph& graph = file_of(deployment, "net_qdq.onnx").model;
  EXPECT_EQ(count(graph, "Clip"), count(graph, "QuantizeLinear"));
  EXPECT_EQ(describe(graph.find_node("x_quantized_clip")->input(1)), "{-127}");
  EXPECT_TRUE(deployment.notes.empty());
}

TEST(ExportForms, OfMmrazorAreCalledAfterTheQuantizers) {
  const Deployment deployment = deployed(calibrated_graph("mmrazor_tensorrt"));
  const DeployFile& file = file_of(deployment, "net_qdq.onnx");
  EXPECT_EQ(file.opset, 13);
  const Node* quantize = file.model.find_node("x.fq_quantized");
  const Node* dequantize = file.model.find_node("x.fq_dequantized");
  ASSERT_TRUE(quantize && dequantize);
  EXPECT_EQ(quantize->output().name(), "x.fq_quantized_out");
  EXPECT_EQ(dequantize->input(0), &quantize->output());
  EXPECT_EQ(dequantize->output().name(), "x.fq");
  EXPECT_TRUE(file.model.find_node("w1.fq_dequantized"));
  EXPECT_EQ(count(file.model, "Clip"), 0) << "-128..127";
  EXPECT_TRUE(deployment.notes.empty());
}

TEST(ExportForms, OfOperatorsOnCodesStandBesideQdq) {
  const Deployment deployment = deployed(calibrated_graph("onnxruntime"), "", {{"qoperator", 1.0}});
  ASSERT_EQ(deployment.files.size(), 3U);
  const Graph& graph = file_of(deployment, "net_qoperator.onnx").model;
  EXPECT_EQ(count(graph, "QLinearConv"), 2);
  EXPECT_EQ(count(graph, "com.microsoft.QLinearAdd"), 1);
  EXPECT_EQ(count(graph, "Conv"), 0);
  EXPECT_EQ(graph.find_node("conv1_quantized")->input(8)->dtype(), DType::kInt32);
  EXPECT_EQ(graph.find_node("conv1_quantized")->input(3)->dtype(), DType::kInt8);
}

TEST(ExportForms, OfTorchsEnginesAreIntegers) {
  for (const char* platform : {"fbgemm", "x86", "qnnpack", "onednn", "qnnpack_symmetric"}) {
    const Deployment deployment = deployed(calibrated_graph(platform));
    ASSERT_EQ(deployment.files.size(), 2U) << platform;
    const Graph graph = read_back(file_of(deployment, "net_int8.quench.onnx"));
    EXPECT_EQ(count(graph, "quench.QConv"), 2) << platform;
    EXPECT_EQ(count(graph, "quench.QAdd"), 1) << platform;
    EXPECT_EQ(quantized_model_of(graph).stage, ModelStage::kConverted) << platform;
    EXPECT_EQ(graph.find_node("conv1")->get_string("requantize", ""), find_platform(platform).requantize);
  }
}

TEST(ExportForms, AreNotThereForEveryPlatform) {
  const std::string academic = message_of([&] {
    Graph graph = calibrated_graph("onnxruntime");
    QuantPlan plan = plan_from_yaml(graph.metadata.at("quench.plan"));
    plan.platform = "mmrazor_academic";
    graph.metadata["quench.plan"] = to_yaml(plan);
    deployed(graph);
  });
  EXPECT_NE(academic.find("'mmrazor_academic' has no target of its own"), std::string::npos) << academic;
}

}  // namespace
}  // namespace quench
