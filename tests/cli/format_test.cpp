// The format of quantized model files: one of each stays in tests/data and must be read for ever.
#include <ATen/ATen.h>

#include "cli/demo.h"
#include "quench/calibrate.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/plan.h"

namespace quench {
namespace {

// Written by 'quench quantize format1.onnx --platform onnxruntime'; on ones it gave these logits.
TEST(Format, OneIsRead) {
  const Graph graph = import_model(std::string(std::getenv("QUENCH_TEST_DATA")) + "/format1.quench.onnx");
  EXPECT_EQ(graph.metadata.at("quench.stage"), "calibrated");
  EXPECT_EQ(plan_from_yaml(graph.metadata.at("quench.plan")).platform, "onnxruntime");
  check_calibrated(graph);
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
