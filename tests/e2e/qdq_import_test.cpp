// A third party's Q/DQ file as a graph with quantizers: every scale, zero point and code kept, the same bits.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "graph/tensor_types.h"
#include "quench/calibrate.h"
#include "quench/executor.h"
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
  const Prepared prepared = prepare_by_platform(graph, "tensorrt");
  EXPECT_EQ(prepared.plan.count(Role::kActivation), pairs);
  EXPECT_EQ(prepared.plan.count(Role::kWeight), 53);
  EXPECT_EQ(count(prepared.graph, "quench.QuantizeBias"), 53);
  EXPECT_EQ(count(prepared.graph, "QuantizeLinear") + count(prepared.graph, "DequantizeLinear"), 0);
  check_calibrated(prepared.graph);

  at::manual_seed(1);
  const RtValue image(at::randn({2, 3, 96, 96}));
  const at::Tensor op_by_op = Executor(graph).run({image})[0].tensor();
  EXPECT_TRUE(bit_equal(Executor(prepared.graph).run({image})[0].tensor(), op_by_op));
}

}  // namespace
}  // namespace quench
