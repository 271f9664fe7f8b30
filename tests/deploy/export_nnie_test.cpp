#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

// The greatest magnitudes of what conv and fc read. Relu, the pool and Flatten are left out.
TEST(ExportNnie, ClipValuesOfLayers) {
  const Deployment deployment = deployed(planned(ranged_net("log8", "log8"), "nnie"));
  const auto expected = nlohmann::json::parse(R"({"nnie": {"gfpq_param_dict": {"conv": [0.5], "fc": [0.125]}}})");
  EXPECT_EQ(json_of(deployment, "net_gfpq_param_dict.json"), expected);
  expect_stripped(deployment, "net_deploy_model.onnx");
  const Node& quantizer = *file_of(deployment, "net_quantizers.onnx").model.find_node("x.fq");
  EXPECT_EQ(quantizer.op(), "vendor.NNIEQuantize");
  EXPECT_EQ(describe(quantizer.input(1)), "{0.5}");
}

// x -> two Resize, one of a grouped convolution -> Add -> y
Graph upsampled(const std::string& coordinates) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 2, 2, 2}));
  Value& scales = graph.add_constant("scales", at::tensor({1.0F, 1.0F, 2.0F, 2.0F}));
  Value& w = graph.add_constant("w", at::ones({2, 1, 1, 1}));
  Node& grouped = graph.add("Conv", "grouped", {&x, &w});
  grouped.attrs["group"] = std::int64_t{2};
  const auto resize = [&](const char* name, Value& from) -> Value& {
    Node& node = graph.add("Resize", name, {&from, nullptr, &scales});
    node.attrs["mode"] = std::string("nearest");
    node.attrs["coordinate_transformation_mode"] = coordinates;
    node.attrs["nearest_mode"] = std::string("floor");
    return node.output();
  };
  Value &up = resize("up", x), &up2 = resize("up2", grouped.output());
  graph.add_output(graph.add("Add", "add", {&up, &up2}, std::vector<std::string>{"y"}).output());
  run_passes(graph, {"infer_shapes"});
  const std::vector<std::pair<const char*, float>> magnitudes = {
      {"x", 1.0F}, {"w", 2.0F}, {"grouped", 4.0F}, {"up", 8.0F}, {"up2", 16.0F}};
  for (const auto& [name, largest] : magnitudes) quantize(graph, name, "log8", {{largest}, {0}});
  return planned(graph, "nnie");
}

TEST(ExportNnie, UpsampleHasAPermuteBehindIt) {
  const Deployment deployment = deployed(upsampled("asymmetric"));
  const auto expected = nlohmann::json::parse(R"({"nnie": {"gfpq_param_dict": {"up": [1.0], "up_permute_0": [1.0],
      "up2": [4.0], "up2_permute_1": [4.0], "add": [8.0, 16.0]}}})");
  EXPECT_EQ(json_of(deployment, "net_gfpq_param_dict.json"), expected);
  const DeployFile& file = file_of(deployment, "net_deploy_model.onnx");
  EXPECT_EQ(file.opset, 9);
  EXPECT_NE(export_onnx_bytes(file.model, {.opset = 9}).find("Upsample"), std::string::npos);
  const at::Tensor x = whole({1, 2, 2, 2}, 1, 3);
  EXPECT_TRUE(at::equal(run_file(deployment, "net_deploy_model.onnx", x),
                        2 * x.repeat_interleave(2, 2).repeat_interleave(2, 3)));
}

TEST(ExportNnie, Refuses) {
  EXPECT_NE(refusal_of(upsampled("half_pixel")).find("below opset 11 Resize"), std::string::npos);
  Graph linear = planned(ranged_net("int8 symmetric tensor", "int8 symmetric tensor"), "nnie");
  EXPECT_NE(refusal_of(linear).find("NNIE has logarithmic codes"), std::string::npos);
  // As the other side files: one without a layer was written.
  Graph weights = plain_net();
  quantize(weights, "w", "log8", {{0.5F}, {0}});
  EXPECT_NE(refusal_of(planned(weights, "nnie")).find("'net_gfpq_param_dict.json' would be empty"), std::string::npos);
}

}  // namespace
}  // namespace quench
