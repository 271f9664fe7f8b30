#include <gtest/gtest.h>

#include "deploy/deployed.h"
#include "quant/reference.h"
#include "support/describe.h"

namespace quench {
namespace {

std::string ops_of(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += concat(text.empty() ? "" : " ", node->op(), ":", node->name());
  return text;
}

std::vector<std::string> names_of(const Node& node) {
  std::vector<std::string> names;
  for (const Value* input : node.inputs()) names.push_back(input->name());
  return names;
}

TEST(ExportOnnxQnn, HasOperatorsOnCodes) {
  const Graph quantized = calibrated_graph("onnx_qnn");
  const Deployment deployment = deployed(quantized);
  ASSERT_EQ(deployment.files.size(), 3U);
  EXPECT_EQ(file_of(deployment, "net_qdq.onnx").use, FileUse::kInstead);
  const Graph& graph = file_of(deployment, "net_qoperator.onnx").model;
  EXPECT_EQ(ops_of(graph),
            "QuantizeLinear:input_quantized QLinearConv:conv1_quantized QLinearConv:conv2_quantized "
            "com.microsoft.QLinearAdd:add_quantized DequantizeLinear:add_dequantized GlobalMaxPool:pool");
  const Node& conv = *graph.find_node("conv1_quantized");
  EXPECT_EQ(names_of(conv),
            (std::vector<std::string>{"input_quantized", "x_scale", "x_zero_point", "w1_quantized", "w1_scale",
                                      "w1_zero_point", "relu1_scale", "relu1_zero_point", "b1_quantized"}));
  EXPECT_EQ(describe(conv.attrs.at("pads")), "[1, 1, 1, 1]");
  for (const int slot : {0, 2, 3, 5, 7}) EXPECT_EQ(conv.input(slot)->dtype(), DType::kUint8) << slot;
  EXPECT_EQ(conv.input(8)->dtype(), DType::kInt32);
  EXPECT_EQ(conv.output().dtype(), DType::kUint8);
  EXPECT_EQ(conv.input(1)->rank(), 0) << "ONNX Runtime wants scalars";
}

// D34: both are rounded, the weights saturated.
TEST(ExportOnnxQnn, RoundsWeightsAndBiases) {
  const Graph quantized = calibrated_graph("onnx_qnn");
  const Graph graph = file_of(deployed(quantized), "net_qoperator.onnx").model;
  const Node& conv = *graph.find_node("conv1_quantized");
  const QParams w = params_of(quantized, "w1"), x = params_of(quantized, "x");
  const QType type{QScheme::parse("uint8 affine tensor"), w};
  EXPECT_TRUE(at::equal(conv.input(3)->tensor(), quantize_reference(small_graph().value("w1").tensor(), type)));
  const at::Tensor bias = (small_graph().value("b1").tensor() / (x.scale[0] * w.scale[0])).round().to(at::kInt);
  EXPECT_TRUE(at::equal(conv.input(8)->tensor(), bias));
  EXPECT_EQ(describe(conv.input(7)), "{0}") << "behind a Relu";
}

TEST(ExportOnnxQnn, ShiftsSignedCodes) {
  QuantConfig config;
  config.weight.symmetric = true;
  config.weight.is_signed = true;
  const Graph quantized = calibrated_graph("onnx_qnn", config);
  const Graph graph = file_of(deployed(quantized), "net_qoperator.onnx").model;
  const Node& conv = *graph.find_node("conv1_quantized");
  EXPECT_EQ(describe(conv.input(5)), "{128}");
  const QType type{QScheme::parse("int8 symmetric tensor"), params_of(quantized, "w1")};
  const at::Tensor codes = quantize_reference(small_graph().value("w1").tensor(), type).to(at::kInt) + 128;
  EXPECT_TRUE(at::equal(conv.input(3)->tensor().to(at::kInt), codes));
}

}  // namespace
}  // namespace quench
