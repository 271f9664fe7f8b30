// By which names a rule of the user finds a layer.
#include "platforms/match.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

// A Conv as the importers name it: the node by its exporter, the weight by its module.
struct OneConv {
  OneConv() { layer.nodes = {graph.nodes().front().get()}; }
  bool found_by(const std::string& match, const std::string& op = "") const {
    LayerRule rule;
    rule.match = match;
    rule.op = op;
    return matches(layer, rule);
  }
  Graph graph = parse_graph(R"(graph "one" {
  input %x : float[1, 1, 2, 2]
  const %layer1.0.conv1.weight : float[1, 1, 1, 1] = {1}
  %y = Conv "/layer1/layer1.0/conv1/Conv" (%x, %layer1.0.conv1.weight) : float[1, 1, 2, 2]
  output %y
}
)");
  Layer layer;
};

TEST(Match, FindsALayerByNodeModuleOrPattern) {
  const OneConv conv;
  for (const char* match : {"/layer1/layer1.0/conv1/Conv", "layer1.0.conv1", "layer1.*", "*.conv?", ""})
    EXPECT_TRUE(conv.found_by(match)) << match;
  EXPECT_TRUE(conv.found_by("layer1.*", "Conv"));
  EXPECT_FALSE(conv.found_by("layer1.*", "Gemm"));
}

TEST(Match, AModulesNameCoversWhatIsInside) {
  const OneConv conv;
  EXPECT_TRUE(conv.found_by("layer1"));
  EXPECT_TRUE(conv.found_by("layer1.0"));
  EXPECT_FALSE(conv.found_by("layer"));
  EXPECT_FALSE(conv.found_by("conv1"));  // a path begins at the root: that would be another layer
  EXPECT_FALSE(conv.found_by("layer1.0.conv"));
}

}  // namespace
}  // namespace quench
