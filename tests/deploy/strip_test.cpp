#include "quench/side_file.h"

#include <gtest/gtest.h>

#include "convert/ready.h"
#include "deploy/ranged_graph.h"

namespace quench {
namespace {

constexpr const char* kInt8 = "int8 symmetric tensor";

std::string names_of(const StrippedModel& model) {
  std::string names;
  for (const StrippedTensor& tensor : model.tensors) names += tensor.name + " ";
  return names;
}

TEST(Strip, TensorsInOrderOfTheGraph) {
  const StrippedModel model = strip_quantizers(ready_for_deployment(calibrated(ranged_net(kInt8, kInt8))));
  EXPECT_EQ(names_of(model), "x w relu flat v y ");
  EXPECT_EQ(model.find("w")->role, Role::kWeight);
  EXPECT_EQ(model.find("pool"), nullptr);
  EXPECT_FALSE(model.graph.metadata.contains("quench.plan"));
}

// A Pad of nothing goes, and the range of what it gave is that of what it read.
TEST(Strip, EmptyPads) {
  Graph graph = plain_net();
  Node& conv = *graph.find_node("conv");
  Value& pads = graph.add_constant("pads", at::zeros({8}, at::kLong));
  Node& pad = graph.insert_before(conv, "Pad", "pad", {conv.input(0), &pads});
  graph.set_input(conv, 0, &pad.output());
  run_passes(graph, {"infer_shapes"});
  quantize(graph, "pad", kInt8, {{0.5F}, {0}});
  const StrippedModel model = strip_quantizers(ready_for_deployment(calibrated(graph)));
  EXPECT_EQ(names_of(model), "x ");
  EXPECT_FALSE(model.graph.find_node("pad"));
}

// An output that is an input keeps both names.
TEST(Strip, AnInputThatIsAnOutput) {
  Graph graph = plain_net();
  graph.add_output(*graph.inputs()[0]);
  quantize(graph, "x", kInt8, {{0.5F}, {0}});
  const StrippedModel model = strip_quantizers(ready_for_deployment(calibrated(graph)));
  EXPECT_EQ(names_of(model), "x ");
  EXPECT_EQ(model.graph.outputs()[1]->producer()->op(), "Identity");
}

TEST(Strip, RangesFoundBehindMovers) {
  Graph graph = plain_net();
  Node& fc = *graph.find_node("fc");
  Value& shape = graph.add_constant("shape", at::tensor({0, 2}, at::kLong));
  Node& reshape = graph.insert_before(fc, "Reshape", "reshape", {fc.input(0), &shape});
  graph.set_input(fc, 0, &reshape.output());
  run_passes(graph, {"infer_shapes"});
  quantize(graph, "reshape", kInt8, {{0.5F}, {0}});
  StrippedModel model = strip_quantizers(ready_for_deployment(calibrated(graph)));
  pass_ranges_back(model);
  EXPECT_EQ(names_of(model), "pool flat reshape ");  // through two; no further than what averages
}

// What an algorithm has beyond scale and zero point, for targets that need it: numbers, but not what is like x.
TEST(Strip, TellsTheAlgorithmAndItsNumbers) {
  Graph graph = plain_net();
  quantize(graph, "relu", "uint8 affine tensor", {{0.5F}, {0}}, "pact");
  quantize(graph, "w", kInt8, {{0.25F}, {0}}, "adaround");
  const StrippedModel model = strip_quantizers(ready_for_deployment(calibrated(graph)));
  EXPECT_EQ(model.find("relu")->algorithm, "pact");
  EXPECT_EQ(model.find("relu")->own.size(), params_of(fake_quant_spec(*graph.find_node("relu.fq"))).size() - 2);
  for (const auto& [name, numbers] : model.find("relu")->own) EXPECT_EQ(numbers.size(), 1U) << name;
  EXPECT_EQ(model.find("w")->algorithm, "adaround");
  EXPECT_TRUE(model.find("w")->own.empty());
}

}  // namespace
}  // namespace quench
