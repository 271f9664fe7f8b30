#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

constexpr const char* kPot = "int8 symmetric tensor pot";

nlohmann::json entry(double scale, int fix_point) { return {{"scale", scale}, {"fix_point", fix_point}}; }

// Fix point -log2(s). The pool over 7 x 7 is computed as sum * 21 / 1024, 49 * 21 / 1024 of the mean. Nothing quantized
// b, whose 3 needs steps of 2^ceil(log2(3 / 127)) = 1/32.
TEST(ExportVitis, ScalesAndFixPoints) {
  Graph graph = ranged_net(kPot, kPot);
  quantize(graph, "pool", kPot, {{0.125F}, {0}});
  const Deployment deployment = deployed(planned(graph, "vitis"));
  nlohmann::json expected;
  expected["vitis"] = {{"x", entry(0.5, 1)},    {"w", entry(0.25, 2)},     {"b", entry(0.03125, 5)},
                       {"relu", entry(1.0, 0)}, {"pool", entry(0.125, 3)}, {"flat", entry(0.125, 3)},
                       {"v", entry(0.0625, 4)}, {"y", entry(2.0, -1)}};
  expected["vitis"]["pool"]["pool_factor"] = 49.0 * 21 / 1024;
  EXPECT_EQ(json_of(deployment, "net_clip_ranges.json"), expected);
  expect_stripped(deployment, "net_deploy_model.onnx");
  ASSERT_EQ(deployment.notes.size(), 2U);
  EXPECT_NE(deployment.notes[0].find("not quantized in the model: 1;"), std::string::npos);
  EXPECT_NE(deployment.notes[1].find("-Q net_quantizers.onnx -C net_deploy_model.onnx -N net"), std::string::npos);
}

TEST(ExportVitis, AQuantizedBias) {
  Graph graph = plain_net();
  quantize(graph, "w", kPot, {{0.25F}, {0}}, "tqt");
  quantize(graph, "b", kPot, {{0.5F}, {0}}, "tqt");
  const Deployment deployment = deployed(planned(graph, "vitis"));
  EXPECT_EQ(json_of(deployment, "net_clip_ranges.json")["vitis"]["b"], entry(0.5, 1));
  EXPECT_EQ(deployment.notes.size(), 1U);
  const Node& node = *file_of(deployment, "net_quantizers.onnx").model.find_node("b.fq");
  EXPECT_EQ(node.op(), "vendor.FakeQuantizeTqtAffine");
}

TEST(ExportVitis, Refuses) {
  Graph channels = plain_net();
  quantize(channels, "w", "int8 symmetric channel:0 pot", {{0.25F, 0.5F}, {0, 0}});
  EXPECT_NE(refusal_of(planned(channels, "vitis")).find("the DPU takes one scale per tensor"), std::string::npos);
  Graph any = plain_net();
  quantize(any, "w", "int8 symmetric tensor", {{0.3F}, {0}});
  EXPECT_NE(refusal_of(planned(any, "vitis")).find("is 0.3; the DPU takes powers of two"), std::string::npos);
}

}  // namespace
}  // namespace quench
