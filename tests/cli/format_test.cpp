// The format of quantized model files: one of each stays in tests/data and must be read for ever.
#include <ATen/ATen.h>

#include "cli/demo.h"
#include "quench/calibrate.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/quantized_model.h"

namespace quench {
namespace {

// Written by 'quench quantize format1.onnx --platform onnxruntime'; on ones it gave these logits.
TEST(Format, OneIsRead) {
  const Graph graph = import_model(std::string(std::getenv("QUENCH_TEST_DATA")) + "/format1.quench.onnx");
  EXPECT_EQ(graph.metadata.at("quench.stage"), "calibrated");
  EXPECT_EQ(plan_from_yaml(graph.metadata.at("quench.plan")).platform, "onnxruntime");
  // It says on its nodes, too, what the plan says: that is not looked at any more.
  ASSERT_EQ(graph.find_node("flat.fq")->metadata.at("shared_with"), "pool");
  const QuantizedModel model = quantized_model_of(graph);
  EXPECT_EQ(model.stage, ModelStage::kCalibrated);
  EXPECT_EQ(leader_of(model, *model.graph.find_node("flat.fq")), model.graph.find_node("pool.fq"));
  EXPECT_EQ(observer_of(model, *model.graph.find_node("conv.weight.fq"))->kind(), "min_max");
  for (const Node* node : quantizers_of(model.graph)) EXPECT_TRUE(node->metadata.empty()) << node->name();
  const at::Tensor logits = Executor(graph).run({RtValue(at::ones({1, 1, 8, 8}))})[0].tensor();
  // Codes times the scale of the output's quantizer: another order of summing moves a code by one at most.
  constexpr double kStep = 0.018756182864308357;
  EXPECT_LT((logits - at::tensor({1.5942756F, 4.0325794F, 1.5567632F})).abs().max().item<double>(), 1.01 * kStep);
}

TEST(Format, ANewerOneIsRefused) {
  const TemporaryFolder folder;
  Graph graph = import_model(demo_model());
  graph.metadata["quench.format"] = "2";
  export_onnx(graph, folder.path("m.quench.onnx"));
  expect_refused(quench_run({"inspect", folder.path("m.quench.onnx")}), "reads format 1");
}

}  // namespace
}  // namespace quench
