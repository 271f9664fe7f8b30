// A third party's Q/DQ file as a graph with quantizers: every scale, zero point and code kept, the same bits.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "e2e/demo_model.h"
#include "graph/tensor_types.h"
#include "quench/calibrate.h"
#include "quench/deploy.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "support/data_file.h"

namespace quench {
namespace {

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (const auto& node : graph.nodes()) found += node->op() == op ? 1 : 0;
  return found;
}

TEST(QdqImport, MobileNetV2KeepsItsBits) {
  const std::string path = data_file("models/mobilenetv2_imagenet_qdq_int8.onnx");
  if (path.empty()) GTEST_SKIP() << "mobilenetv2_imagenet_qdq_int8.onnx is not in the data folder (QUENCH_DATA)";
  Graph graph = import_model(path);
  run_passes(graph, cleanup_passes());
  const int pairs = count(graph, "QuantizeLinear");
  ASSERT_EQ(pairs, 66);
  const QuantizedModel prepared = prepare_by_platform(graph, "tensorrt");
  EXPECT_EQ(prepared.plan.count(Role::kActivation), pairs);
  EXPECT_EQ(prepared.plan.count(Role::kWeight), 53);
  EXPECT_EQ(count(prepared.graph, "quench.QuantizeBias"), 53);
  EXPECT_EQ(count(prepared.graph, "QuantizeLinear") + count(prepared.graph, "DequantizeLinear"), 0);
  verify(prepared, ModelStage::kCalibrated);

  at::manual_seed(1);
  const RtValue image(at::randn({2, 3, 96, 96}));
  const at::Tensor op_by_op = Executor(graph).run({image})[0].tensor();
  EXPECT_TRUE(bit_equal(Executor(prepared.graph).run({image})[0].tensor(), op_by_op));
}

// The embedded model as operators on codes: written, read back, run. Both round once per layer, at different places: a
// code may fall to the other side of a tie, so single steps of the output differ.
TEST(QOperatorImport, RunsAsItsSimulation) {
  QuantizedModel quantized = prepare_by_platform(import_model(demo_folder() + "/fashion_cnn.onnx"), "onnxruntime");
  const Images images = demo_images(0, 200);
  calibrate(quantized, TensorData(images.pixels));
  DeployOptions options;
  options.name = "demo";
  options.exporter.set("qoperator", 1.0);
  const Deployment deployment = deploy(quantized, options);
  const DeployFile& file = deployment.files.back();
  ASSERT_EQ(file.name, "demo_qoperator.onnx");
  const Graph graph = import_onnx_bytes(export_onnx_bytes(file.model, {.opset = file.opset}));
  EXPECT_EQ(count(graph, "QLinearConv"), 10);
  EXPECT_EQ(count(graph, "com.microsoft.QLinearAdd"), 2);
  EXPECT_EQ(count(graph, "Conv") + count(graph, "Gemm"), 0);
  Executor codes(graph), simulation(quantized.graph);
  const at::Tensor found = logits_of(codes, images.pixels), expected = logits_of(simulation, images.pixels);
  const double step = quantized.graph.find_node("logits.fq")->input(1)->tensor().item<double>();
  EXPECT_LE((found - expected).abs().mean().item<double>(), 0.1 * step);
  EXPECT_LE((found - expected).abs().max().item<double>(), 3.01 * step);
  EXPECT_GE(found.argmax(1).eq(expected.argmax(1)).sum().item<std::int64_t>(), 199);
}

}  // namespace
}  // namespace quench
