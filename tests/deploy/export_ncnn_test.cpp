#include <gtest/gtest.h>

#include <sstream>

#include "deploy/deployed.h"
#include "support/describe.h"

namespace quench {
namespace {

std::map<std::string, std::vector<float>> table_of(const std::string& text) {
  std::map<std::string, std::vector<float>> table;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    for (float scale = 0; words >> scale;) table[key].push_back(scale);
  }
  return table;
}

// x -> conv (in groups) -> gemm, with the weights' quantizers as the plan says.
Graph grouped_graph(const std::string& conv_weight) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 1, 1}));
  Node& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", whole({4, 2, 1, 1}, 1, 3))});
  conv.attrs["group"] = std::int64_t{2};
  Node& flat = graph.add("Flatten", "flat", {&conv.output()});
  Node& gemm = graph.add("Gemm", "fc", {&flat.output(), &graph.add_constant("w_fc", whole({4, 3}, 2, 3))});
  graph.add_output(gemm.output());
  run_passes(graph, {"infer_shapes"});
  QuantPlan plan;
  plan.platform = "ncnn";
  const std::string int8 = "int8 symmetric tensor narrow";
  plan.entries = {plan_entry("x", int8), plan_entry("flat", int8), plan_entry("w", conv_weight),
                  plan_entry("w_fc", "int8 symmetric channel:1 narrow")};
  QuantizedModel model = insert_quantizers(graph, plan);
  calibrate(model, TensorData(whole({8, 4, 1, 1}, 5, 9)), {});
  graph = with_plan_text(model);
  return graph;
}

TEST(ExportNcnn, WritesTheTableOfNcnn2table) {
  const Graph quantized = calibrated_graph("ncnn");
  const Deployment deployment = deployed(quantized);
  ASSERT_EQ(deployment.files.size(), 3U);
  const std::string text = file_of(deployment, "net.table").text;
  std::istringstream lines(text);
  std::vector<std::string> keys;
  for (std::string line; std::getline(lines, line);) {
    keys.push_back(line.substr(0, line.find(' ')));
    EXPECT_EQ(line.back(), ' ') << "as ncnn2table ends its lines";
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"conv1_param_0", "conv2_param_0", "conv1", "conv2"}));
  const auto table = table_of(text);
  const std::vector<float> w1 = params_of(quantized, "w1").scale;
  ASSERT_EQ(table.at("conv1_param_0").size(), 4U);
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(table.at("conv1_param_0")[c], 1.0F / w1[c]) << "to the bit";
  EXPECT_EQ(table.at("conv1"), std::vector<float>{1.0F / params_of(quantized, "x").scale[0]});
  EXPECT_EQ(table.at("conv2"), std::vector<float>{1.0F / params_of(quantized, "relu1").scale[0]});
  EXPECT_NE(deployment.notes.at(0).find("onnx2ncnn"), std::string::npos);
  EXPECT_NE(deployment.notes.at(1).find("Winograd"), std::string::npos) << "3x3 with stride 1";
}

TEST(ExportNcnn, WritesAFloatModelWhoseLayersTheTableNames) {
  const Deployment deployment = deployed(calibrated_graph("ncnn"));
  const Graph graph = read_back(file_of(deployment, "net_deploy_model.onnx"));
  for (const auto& [key, scales] : table_of(file_of(deployment, "net.table").text)) {
    const std::string layer = key.substr(0, key.find("_param_"));
    EXPECT_TRUE(graph.find_node(layer)) << layer;
  }
  for (const auto& node : graph.nodes()) EXPECT_EQ(node->op().find("FakeQuant"), std::string::npos);
}

TEST(ExportNcnn, HasOneScaleAGroupAndOneAColumn) {
  const Graph quantized = grouped_graph("int8 symmetric tensor narrow");
  const auto table = table_of(file_of(deployed(quantized), "net.table").text);
  EXPECT_EQ(table.at("conv_param_0"), std::vector<float>(2, 1.0F / params_of(quantized, "w").scale[0]));
  ASSERT_EQ(table.at("fc_param_0").size(), 3U);
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_EQ(table.at("fc_param_0")[c], 1.0F / params_of(quantized, "w_fc").scale[c]);
  const std::string message = message_of([] { deployed(grouped_graph("int8 symmetric channel:0 narrow")); });
  EXPECT_NE(message.find("'conv' (Conv): ncnn has one scale for all channels of a group"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace quench
