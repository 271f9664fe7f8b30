#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

// resnet18: what its 20 Convs and the Gemm read: the input, MaxPool's output, 7 block outputs (the eighth feeds the
// pool), 8 inner Convs, what Gemm reads: 1 + 1 + 7 + 8 + 1 = 18. mobilenet_v2 is a chain: one per layer, 53.
TEST(Ncnn, Counts) {
  EXPECT_EQ(counts("ncnn", "resnet18"), (Counts{18, 21}));
  EXPECT_EQ(counts("ncnn", "mobilenet_v2"), (Counts{53, 53}));
}

TEST(Ncnn, GivesAConvInGroupsOneScaleWhereAGroupHasSeveralChannels) {
  const auto scheme = [](std::int64_t channels) {
    Graph graph;
    Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 4, 8, 8}));
    Node& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", at::ones({channels, 1, 1, 1}))});
    conv.attrs["group"] = std::int64_t{4};
    graph.add_output(conv.output());
    infer_shapes(graph);
    QuantConfig config;
    config.platform = "ncnn";
    return make_plan(graph, config).find("w")->scheme.text();
  };
  EXPECT_EQ(scheme(4), "int8 symmetric channel:0 narrow") << "depthwise";
  EXPECT_EQ(scheme(8), "int8 symmetric tensor narrow");
}

TEST(Ncnn, RefusesUnsigned) {
  QuantConfig config;
  config.platform = "ncnn";
  config.activation.is_signed = false;
  config.activation.narrow = false;
  try {
    make_plan(zoo_graph("resnet18"), config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("cannot run unsigned activations (signed only)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace quench
