#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

constexpr const char* kUint8 = "uint8 affine tensor";

// max(-(0 - z) s, (255 - z) s); weights that have one scale are there too.
TEST(ExportPplCuda, RangesAsLinesAndAsJson) {
  const Deployment deployment = deployed(planned(ranged_net(kUint8, kUint8), "ppl_cuda"));
  EXPECT_EQ(file_of(deployment, "net_clip_ranges.json").text,
            "x: 77.5\nw: 58.75\nrelu: 255.0\npool: 31.875\nflat: 31.875\nv: 8.0\ny: 400.0\n");
  const auto expected = nlohmann::json::parse(R"({"ppl-cuda": {"x": 77.5, "w": 58.75, "relu": 255.0, "pool": 31.875,
      "flat": 31.875, "v": 8.0, "y": 400.0}})");
  EXPECT_EQ(json_of(deployment, "net_ppl_cuda_ranges.json"), expected);
  expect_stripped(deployment, "net_deploy_model.onnx");
}

TEST(ExportPplCuda, ChannelsHaveNoLine) {
  Graph graph = plain_net();
  quantize(graph, "x", kUint8, {{0.5F}, {100}});
  quantize(graph, "w", "uint8 affine channel:0", {{0.25F, 0.5F}, {20, 40}});
  const Deployment deployment = deployed(planned(graph, "ppl_cuda"));
  EXPECT_EQ(file_of(deployment, "net_clip_ranges.json").text, "x: 77.5\n");
}

TEST(ExportPplCuda, Refuses) {
  Graph graph = plain_net();
  quantize(graph, "w", "uint8 affine channel:0", {{0.25F, 0.5F}, {20, 40}});
  EXPECT_NE(refusal_of(planned(graph, "ppl_cuda")).find("would be empty"), std::string::npos);
  graph.rename(graph.value("x"), "my input");
  quantize(graph, "my input", kUint8, {{0.5F}, {100}});
  EXPECT_NE(refusal_of(planned(graph, "ppl_cuda")).find("the tensor 'my input' cannot be named"), std::string::npos);
}

}  // namespace
}  // namespace quench
