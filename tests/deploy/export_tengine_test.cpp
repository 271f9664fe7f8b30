#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

constexpr const char* kUint8 = "uint8 affine tensor";

// conv runs with the Relu after it: the same numbers. No weights.
TEST(ExportTengine, Lines) {
  const Deployment deployment = deployed(planned(ranged_net(kUint8, kUint8), "tengine_u8"));
  EXPECT_EQ(file_of(deployment, "net_for_tengine.scale").text,
            "x 0.5 100\nconv 1.0 0\nrelu 1.0 0\npool 0.125 0\nflat 0.125 0\ny 2.0 200\n");
  expect_stripped(deployment, "net_for_tengine.onnx");
}

Graph with_clip(float low, float high) {
  Graph graph = plain_net();
  Node& relu = *graph.find_node("relu");
  graph.set_op(relu, "Clip");
  graph.set_inputs(relu, {relu.input(0), &graph.add_constant("low", at::tensor(low)),
                          &graph.add_constant("high", at::tensor(high))});
  quantize(graph, "relu", kUint8, {{0.5F}, {3}});
  return planned(graph, "tengine_u8");
}

TEST(ExportTengine, OnlyRelu6IsFusedOfClips) {
  EXPECT_EQ(file_of(deployed(with_clip(0, 6)), "net_for_tengine.scale").text, "conv 0.5 3\nrelu 0.5 3\n");
  EXPECT_EQ(file_of(deployed(with_clip(-1, 6)), "net_for_tengine.scale").text, "relu 0.5 3\n");
  EXPECT_EQ(file_of(deployed(with_clip(0, 5)), "net_for_tengine.scale").text, "relu 0.5 3\n");
}

TEST(ExportTengine, Refuses) {
  Graph channels = plain_net();
  quantize(channels, "w", "uint8 affine channel:0", {{0.25F, 0.5F}, {0, 0}});
  EXPECT_NE(refusal_of(planned(channels, "tengine_u8")).find("Tengine takes one scale per tensor"), std::string::npos);
  Graph spaced = plain_net();
  spaced.rename(spaced.value("relu"), "a b");
  quantize(spaced, "a b", kUint8, {{0.5F}, {3}});
  EXPECT_NE(refusal_of(planned(spaced, "tengine_u8")).find("the tensor 'a b' cannot be named"), std::string::npos);
}

}  // namespace
}  // namespace quench
