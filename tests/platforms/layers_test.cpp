#include "platforms/plan/layers.h"

#include <gtest/gtest.h>

#include "support/describe.h"

namespace quench {
namespace {

// conv1 -> bn1 -> relu1 -> conv2 -> relu2, with these further lines.
Graph two_convs(const std::string& lines = "", const std::string& outputs = "output %relu2") {
  return parse_graph(concat(R"(graph "g" {
    input %x : float[1, 1, 2, 2]
    const %conv1.weight : float[1, 1, 1, 1] = {2.0}
    const %bn1.weight : float[1] = {1.0}
    const %bn1.bias : float[1] = {1.0}
    const %bn1.mean : float[1] = {1.0}
    const %bn1.var : float[1] = {1.0}
    const %c : float[1] = {3.0}
    %conv1 = Conv "conv1" (%x, %conv1.weight) : float[1, 1, 2, 2]
    %bn1 = BatchNormalization "bn1" (%conv1, %bn1.weight, %bn1.bias, %bn1.mean, %bn1.var) : float[1, 1, 2, 2]
    %relu1 = Relu "relu1" (%bn1) : float[1, 1, 2, 2]
    %conv2 = Conv "conv2" (%relu1, %conv1.weight) : float[1, 1, 2, 2]
    %relu2 = Relu "relu2" (%conv2) : float[1, 1, 2, 2]
    )",
                            lines, outputs, "\n}"));
}

// "conv1 bn1 relu1 | conv2 relu2"
std::string layers_of(const Graph& graph, const std::vector<OpChain>& groups, const QuantConfig& config = {}) {
  std::string text;
  for (const Layer& layer : find_layers(graph, groups, config)) {
    if (!text.empty()) text += " |";
    for (const Node* node : layer.nodes) text += (text.empty() ? "" : " ") + node->name();
  }
  return text;
}

TEST(Layers, TakesTheLongestChain) {
  EXPECT_EQ(layers_of(two_convs(), standard_groups()), "conv1 bn1 relu1 | conv2 relu2");
  EXPECT_EQ(layers_of(two_convs(), {{"Conv", "BatchNormalization"}}), "conv1 bn1 | relu1 | conv2 | relu2");
  EXPECT_EQ(layers_of(two_convs(), {}), "conv1 | bn1 | relu1 | conv2 | relu2");
}

TEST(Layers, AnInnerValueWithTwoUsesIsNoGroup) {
  const Graph read = two_convs("%y = Neg \"y\" (%bn1) : float[1, 1, 2, 2]\n", "output %relu2 output %y");
  EXPECT_EQ(layers_of(read, standard_groups()), "conv1 bn1 | relu1 | conv2 relu2 | y");
  const Graph shown = two_convs("", "output %relu2 output %conv1");
  EXPECT_EQ(layers_of(shown, standard_groups()), "conv1 | bn1 relu1 | conv2 relu2");
}

TEST(Layers, ANormByItsOwnBatchIsNoPartOfALayer) {
  Graph graph = two_convs();
  graph.find_node("bn1")->attrs["training_mode"] = std::int64_t{1};
  EXPECT_EQ(layers_of(graph, standard_groups()).substr(0, 11), "conv1 | bn1");
}

TEST(Layers, AnAddBelongsToALayerOnlyAsItsBias) {
  const Graph bias = two_convs("%y = Add \"y\" (%relu2, %c) : float[1, 1, 2, 2]\n", "output %y");
  EXPECT_EQ(layers_of(bias, {{"Relu", "Add"}}), "conv1 | bn1 | relu1 | conv2 | relu2 y");
  const Graph sum = two_convs("%y = Add \"y\" (%relu2, %x) : float[1, 1, 2, 2]\n", "output %y");
  EXPECT_EQ(layers_of(sum, {{"Relu", "Add"}}), "conv1 | bn1 | relu1 | conv2 | relu2 | y");
}

TEST(Layers, TakesTheUsersPatternsAndLists) {
  QuantConfig pattern;
  pattern.fuse_patterns = {{"BatchNormalization", "Relu", "Conv"}};
  EXPECT_EQ(layers_of(two_convs(), {}, pattern), "conv1 | bn1 relu1 conv2 | relu2");
  QuantConfig list;
  list.fuse = {{"relu1", "conv2"}};
  EXPECT_EQ(layers_of(two_convs(), standard_groups(), list), "conv1 bn1 | relu1 conv2 | relu2")
      << "a chain ends where a list begins";
}

TEST(Layers, NamesWhatIsWrongWithAList) {
  const auto message = [](std::vector<std::vector<std::string>> lists) {
    QuantConfig config;
    config.fuse = std::move(lists);
    return message_of([&] { layers_of(two_convs(), {}, config); });
  };
  EXPECT_EQ(message({{"conv1", "bn"}}), "fuse: there is no layer 'bn'; did you mean 'bn1'?");
  EXPECT_EQ(message({{"conv1", "relu1"}}), "fuse: 'relu1' is not the only layer after 'conv1'");
  EXPECT_EQ(message({{"conv1"}}), "fuse: a list must name at least two layers");
  EXPECT_EQ(message({{"conv1", "bn1"}, {"bn1", "relu1"}}), "fuse: 'bn1' is in two lists");
}

TEST(Layers, WhatIsComputedFromConstantsIsConstant) {
  const Graph graph =
      two_convs("%n = Neg \"n\" (%c) : float[1]\n%y = Mul \"y\" (%relu2, %n) : float[1, 1, 2, 2]\n", "output %y");
  const std::set<const Value*> constants = constant_values(graph);
  EXPECT_TRUE(constants.contains(&graph.value("n")));
  EXPECT_FALSE(constants.contains(&graph.value("y")));
}

}  // namespace
}  // namespace quench
