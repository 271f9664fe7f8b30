#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(TengineU8, CountsOfTheReference) {
  EXPECT_EQ(counts("tengine_u8", "resnet18"), (Counts{40, 21}));
  EXPECT_EQ(counts("tengine_u8", "mobilenet_v2"), (Counts{100, 53}));
}

TEST(TengineU8, PlansASmallGraph) {
  EXPECT_EQ(small_plan("tengine_u8"),
            "x: uint8 affine tensor\n"
            "w1: uint8 affine tensor\n"
            "relu: uint8 affine tensor\n"
            "pool: uint8 affine tensor\n"
            "gate: uint8 affine tensor\n"
            "w2: uint8 affine tensor\n"
            "conv2: uint8 affine tensor\n"
            "mul: uint8 affine tensor\n"
            "sum: uint8 affine tensor\n"
            "flat: uint8 affine tensor\n"
            "w3: uint8 affine tensor\n"
            "fc: uint8 affine tensor\n");
}

TEST(TengineU8, RefusesSixteenBits) {
  QuantConfig config = settings_for("tengine_u8");
  config.activation.bits = 16;
  EXPECT_REFUSES(config, "cannot run 16-bit activations (8 bits only)");
}

// Whatever makes a graph output: here a Softmax, which is in no list.
TEST(TengineU8, QuantizesEveryGraphOutput) {
  Graph graph = gated_graph();
  Node& softmax = graph.add("Softmax", "softmax", {graph.outputs()[0]});
  graph.set_output(0, softmax.output());
  infer_shapes(graph);
  EXPECT_EQ(make_plan(graph, settings_for("tengine_u8")).find("softmax")->rule,
            "graph output; close to an output: nothing is cut off");
}

}  // namespace
}  // namespace quench
