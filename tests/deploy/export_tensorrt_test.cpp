#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

constexpr const char* kInt8 = "int8 symmetric tensor narrow";

Graph net() { return planned(ranged_net(kInt8, kInt8), "tensorrt"); }

// s * max(-n, p) = 127 s; what Flatten reads takes the range of what it gives; no weights.
TEST(ExportTensorrt, RangesOfActivations) {
  const Deployment deployment = deployed(net());
  const auto expected = nlohmann::json::parse(R"({"tensorrt": {"blob_range":
      {"x": 63.5, "relu": 127.0, "pool": 15.875, "flat": 15.875, "y": 254.0}}})");
  EXPECT_EQ(json_of(deployment, "net_clip_ranges.json"), expected);
  ASSERT_EQ(deployment.files.size(), 3U);
  EXPECT_EQ(deployment.files[0].name, "net_quantizers.onnx");
  expect_stripped(deployment, "net_deploy_model.onnx");
}

TEST(ExportTensorrt, WeightsLieOnTheirGrid) {
  const Graph model = read_back(file_of(deployed(net()), "net_deploy_model.onnx"));
  // Whole numbers from -3 to 3 on steps of 1/4 and 1/16: the latter ends at 127/16.
  EXPECT_TRUE(at::equal(model.value("w").tensor(), whole({2, 3, 1, 1}, 1, 3)));
  EXPECT_TRUE(at::equal(model.value("v").tensor(), whole({2, 2}, 2, 3)));
}

TEST(ExportTensorrt, ExplicitPairs) {
  const Deployment deployment = deployed(net(), "", {{"deploy_to_qlinear", 1.0}});
  const DeployFile& file = file_of(deployment, "onnx_quantized_model.onnx");
  EXPECT_EQ(file.opset, 13);
  for (const char* name : {"x.fq_quantized", "x.fq_dequantized", "y.fq_quantized", "y.fq_dequantized"})
    EXPECT_TRUE(file.model.find_node(name)) << name;
  for (const auto& node : file.model.nodes()) EXPECT_NE(node->op(), "Clip") << node->name();
  ASSERT_EQ(deployment.notes.size(), 1U);
  EXPECT_NE(deployment.notes[0].find("-128"), std::string::npos);
}

TEST(ExportTensorrt, SaysWhereItFindsOtherScales) {
  EXPECT_TRUE(deployed(net()).notes.empty());
  for (const char* weights : {"int8 symmetric tensor", "int4 symmetric tensor narrow"}) {
    const Deployment deployment = deployed(planned(ranged_net(kInt8, weights), "tensorrt"));
    ASSERT_EQ(deployment.notes.size(), 1U) << weights;
    EXPECT_EQ(deployment.notes[0].find("TensorRT finds the scales of weights itself"), 0U) << deployment.notes[0];
  }
}

TEST(ExportTensorrt, Refuses) {
  Graph affine = planned(ranged_net("uint8 affine tensor", kInt8), "tensorrt");
  EXPECT_NE(refusal_of(affine).find("'x' has a zero point; TensorRT takes symmetric ranges"), std::string::npos);
  Graph four = planned(ranged_net(kInt8, "int4 symmetric tensor"), "tensorrt");
  EXPECT_EQ(refusal_of(four), "(no error)");  // the file of ranges does not mention weights
  EXPECT_NE(refusal_of(four, {{"deploy_to_qlinear", 1.0}}).find("'w' has 4 bits; deploy_to_qlinear takes 8"),
            std::string::npos);
  EXPECT_NE(refusal_of(net(), {{"to_qlinear", 1.0}}).find("to_qlinear"), std::string::npos);
}

// JSON escapes what it must.
TEST(ExportTensorrt, AnyName) {
  Graph graph = plain_net();
  graph.rename(graph.value("relu"), "a \"b\"\\/:0");
  quantize(graph, "a \"b\"\\/:0", kInt8, {{0.5F}, {0}});
  const Deployment deployment = deployed(planned(graph, "tensorrt"));
  EXPECT_EQ(json_of(deployment, "net_clip_ranges.json")["tensorrt"]["blob_range"]["a \"b\"\\/:0"], 63.5);
  graph.rename(graph.value("x"), "\xff");
  quantize(graph, "\xff", kInt8, {{0.5F}, {0}});
  EXPECT_NE(refusal_of(planned(graph, "tensorrt")).find("UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace quench
