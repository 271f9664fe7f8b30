#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

constexpr const char* kUint8 = "uint8 affine tensor";

nlohmann::json encoding(int bits, double min, double max) {
  return nlohmann::json::array({{{"bitwidth", bits}, {"min", min}, {"max", max}}});
}

// min = (0 - z) s, max = (255 - z) s. conv has relu's range, pool that of flat; every tensor has one.
TEST(ExportSnpe, EncodingsOfAllTensors) {
  const Deployment deployment = deployed(planned(ranged_net(kUint8, kUint8), "snpe"));
  nlohmann::json expected;
  expected["activation_encodings"] = {{"x", encoding(8, -50.0, 77.5)},    {"conv", encoding(8, 0.0, 255.0)},
                                      {"relu", encoding(8, 0.0, 255.0)},  {"pool", encoding(8, 0.0, 31.875)},
                                      {"flat", encoding(8, 0.0, 31.875)}, {"y", encoding(8, -400.0, 110.0)}};
  expected["param_encodings"] = {{"w", encoding(8, -5.0, 58.75)}, {"v", encoding(8, -8.0, 7.9375)}};
  EXPECT_EQ(json_of(deployment, "net_clip_ranges.json"), expected);
  EXPECT_TRUE(deployment.notes.empty());
  expect_stripped(deployment, "net_deploy_model.onnx");
}

TEST(ExportSnpe, BitwidthIsTheSchemes) {
  const Deployment deployment = deployed(planned(ranged_net("uint16 affine tensor", kUint8), "snpe"));
  const auto found = json_of(deployment, "net_clip_ranges.json")["activation_encodings"];
  EXPECT_EQ(found["relu"], encoding(16, 0.0, 65535.0));
}

// Both branches of a Concat take the range of what they are joined to; what has no neighbour with a range is named.
TEST(ExportSnpe, BranchesAndWhatStaysFloat) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 2, 4, 4}));
  Value& up = graph.add("Relu", "up", {&x}).output();
  Value& down = graph.add("Exp", "down", {&x}).output();
  Value& both = graph.add("Concat", "both", {&up, &down}).output();
  graph.value("both").producer()->attrs["axis"] = std::int64_t{1};
  graph.add_output(graph.add("Softmax", "soft", {&both}, std::vector<std::string>{"y"}).output());
  quantize(graph, "both", kUint8, {{0.5F}, {0}});
  const Deployment deployment = deployed(planned(graph, "snpe"));
  const auto found = json_of(deployment, "net_clip_ranges.json")["activation_encodings"];
  for (const char* name : {"up", "down", "both"}) EXPECT_EQ(found[name], encoding(8, 0.0, 127.5)) << name;
  EXPECT_EQ(found.size(), 3U) << "x is read by Exp too, which must not see it clamped";
  ASSERT_EQ(deployment.notes.size(), 1U);
  EXPECT_NE(deployment.notes[0].find("'y'"), std::string::npos);
}

TEST(ExportSnpe, RefusesChannels) {
  Graph graph = plain_net();
  quantize(graph, "w", "uint8 affine channel:0", {{0.25F, 0.5F}, {0, 0}});
  EXPECT_NE(refusal_of(planned(graph, "snpe")).find("SNPE takes one scale per tensor"), std::string::npos);
}

}  // namespace
}  // namespace quench
