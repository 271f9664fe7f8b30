#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

nlohmann::json entry(double step, int zero, double min, double max, int bit) {
  return {{"step", step}, {"zero_point", zero}, {"min", min}, {"max", max}, {"bit", bit}, {"type", "biased"}};
}

TEST(ExportPpl, StepsAndRanges) {
  const Deployment deployment =
      deployed(planned(ranged_net("uint16 affine tensor", "uint8 affine tensor"), "ppl_w8a16"));
  nlohmann::json expected;
  expected["ppl"] = {{"x", entry(0.5, 100, -50.0, 32717.5, 16)},   {"w", entry(0.25, 20, -5.0, 58.75, 8)},
                     {"relu", entry(1.0, 0, 0.0, 65535.0, 16)},    {"pool", entry(0.125, 0, 0.0, 8191.875, 16)},
                     {"flat", entry(0.125, 0, 0.0, 8191.875, 16)}, {"v", entry(0.0625, 128, -8.0, 7.9375, 8)},
                     {"y", entry(2.0, 200, -400.0, 130670.0, 16)}};
  EXPECT_EQ(json_of(deployment, "net_clip_ranges.json"), expected);
  expect_stripped(deployment, "net_deploy_model.onnx");
}

TEST(ExportPpl, ListsPerChannel) {
  Graph graph = plain_net();
  quantize(graph, "w", "uint8 affine channel:0", {{0.25F, 0.5F}, {20, 40}});
  const auto found = json_of(deployed(planned(graph, "ppl_w8a16")), "net_clip_ranges.json")["ppl"];
  const auto expected = nlohmann::json::parse(R"({"w": {"step": [0.25, 0.5], "zero_point": [20, 40],
      "min": [-5.0, -20.0], "max": [58.75, 107.5], "bit": 8, "type": "biased"}})");
  EXPECT_EQ(found, expected);
}

TEST(ExportPpl, RefusesFloatCodes) {
  Graph graph = plain_net();
  quantize(graph, "relu", "e4m3fn tensor", {{1.0F}, {0}});
  EXPECT_NE(refusal_of(planned(graph, "ppl_w8a16")).find("e4m3fn"), std::string::npos);
}

// A float32 is written so that it reads back as the same one.
TEST(ExportPpl, NumbersReadBack) {
  for (const float scale : {0.1F, 1.0F / 3.0F, 1.2345678e-6F, 123456.789F}) {
    Graph graph = plain_net();
    quantize(graph, "relu", "uint8 affine tensor", {{scale}, {0}});
    const auto found = json_of(deployed(planned(graph, "ppl_w8a16")), "net_clip_ranges.json")["ppl"]["relu"];
    EXPECT_EQ(found["step"].get<float>(), scale);
    EXPECT_EQ(found["max"].get<double>(), 255.0 * scale);
  }
}

}  // namespace
}  // namespace quench
