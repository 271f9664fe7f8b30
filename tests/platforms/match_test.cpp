// The names by which a user's rule finds a layer.
#include "platforms/plan/match.h"

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

TEST(Match, OneOfSeveralOperatorsWillDo) {
  const OneConv conv;
  EXPECT_TRUE(conv.found_by("", "Gemm|Conv"));
  EXPECT_TRUE(conv.found_by("", "Conv|Gemm"));
  EXPECT_FALSE(conv.found_by("", "Gemm|MatMul"));
  EXPECT_FALSE(conv.found_by("", "ConvTranspose|Gemm"));
}

TEST(Match, AnEqualsSignMeansThatNodeAlone) {
  const OneConv conv;
  EXPECT_TRUE(conv.found_by("=/layer1/layer1.0/conv1/Conv"));
  EXPECT_FALSE(conv.found_by("=layer1.0.conv1"));
  EXPECT_FALSE(conv.found_by("=/layer1"));
}

// A Relu has no weight that would carry its module's path.
TEST(Match, AnExportersNodeNameIsAModulesPath) {
  Graph graph = parse_graph(R"(graph "one" {
  input %x : float[1, 2]
  %y = Relu "/net/layer1/layer1.0/relu/Relu" (%x) : float[1, 2]
  output %y
}
)");
  const Node& relu = *graph.nodes().front();
  for (const char* name : {"net", "net.layer1", "net.layer1.0", "net.layer1.0.relu", "/net/layer1"}) {
    EXPECT_TRUE(is_inside(relu, name)) << name;
    LayerRule rule;
    rule.match = name;
    EXPECT_TRUE(matches({{graph.nodes().front().get()}}, rule)) << name;
  }
  for (const char* name : {"relu", "layer1", "net.layer1.0.re", "net.layer2"})
    EXPECT_FALSE(is_inside(relu, name)) << name;
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
