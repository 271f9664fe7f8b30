#include <gtest/gtest.h>

#include <algorithm>

#include "quench/quantizers.h"
#include "reconstruct/nets.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

std::vector<Names> layers_of(const std::vector<Unit>& units) {
  std::vector<Names> layers;
  for (const Unit& unit : units) layers.push_back(unit.layers);
  return layers;
}

// Every node that depends on an input is in exactly one unit, and units read only what came before.
void expect_whole(const Graph& graph, const std::vector<Unit>& units) {
  std::set<std::string> nodes, known;
  for (const Value* input : graph.inputs()) known.insert(input->name());
  for (const Unit& unit : units) {
    for (const std::string& input : unit.inputs) EXPECT_TRUE(known.contains(input)) << unit.name << " reads " << input;
    for (const std::string& name : unit.nodes) EXPECT_TRUE(nodes.insert(name).second) << name;
    known.insert(unit.outputs.begin(), unit.outputs.end());
  }
  for (const Value* output : graph.outputs()) EXPECT_TRUE(known.contains(output->name()));
}

TEST(Units, AResidualBlockIsOneUnit) {
  const Graph graph = residual_net();
  const std::vector<Unit> units = find_units(graph);
  EXPECT_EQ(layers_of(units),
            (std::vector<Names>{
                {"stem.conv"}, {"block0.conv1", "block0.conv2"}, {"block1.conv1", "block1.conv2"}, {"head"}}));
  EXPECT_EQ(units[1].name, "block0");
  EXPECT_EQ(units[1].inputs, Names{"stem.relu"});
  EXPECT_EQ(units[1].outputs, Names{"block0.relu2"});
  EXPECT_EQ(units[2].output(), "flatten");  // what follows without a weight belongs to it
  expect_whole(graph, units);
}

TEST(Units, QuantizersOfAnOutputBelongToTheUnitThatMakesIt) {
  const auto data = random_images(4);
  const QuantizedModel model = calibrated_net(*data);
  const std::vector<Unit> units = find_units(model.graph);
  EXPECT_EQ(layers_of(units), layers_of(find_units(residual_net())));
  EXPECT_EQ(units[0].output(), quantizer_name("stem.relu"));
  expect_whole(model.graph, units);
}

TEST(Units, LayersEndWhereBranchesMeet) {
  const std::vector<Unit> units = find_units(residual_net(), {"layer", {}});
  EXPECT_EQ(layers_of(units),
            (std::vector<Names>{
                {"stem.conv"}, {"block0.conv1"}, {"block0.conv2"}, {}, {"block1.conv1"}, {"block1.conv2"}, {"head"}}));
  EXPECT_EQ(units[2].outputs, Names{"block0.conv2"});
  EXPECT_FALSE(units[3].learns());  // the sum, which is added again later
  EXPECT_EQ(units[3].inputs, (Names{"block0.conv2", "stem.relu"}));
  for (const Unit& unit : units) EXPECT_EQ(unit.outputs.size(), 1U) << unit.name;
  expect_whole(residual_net(), units);
}

// A function that reads a layer twice (SiLU) is not cut in two.
TEST(Units, AFunctionThatReadsALayerTwiceStaysWhole) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 8, 8}));
  Value& a = conv(graph, "a", x, 4, 4);
  Value& gate = graph.add("Sigmoid", "gate", {&a}).output();
  Value& silu = graph.add("Mul", "silu", {&a, &gate}).output();
  graph.add_output(conv(graph, "b", silu, 4, 4));
  infer_shapes(graph);
  const std::vector<Unit> units = find_units(graph, {"layer", {}});
  EXPECT_EQ(layers_of(units), (std::vector<Names>{{"a"}, {"b"}}));
  EXPECT_EQ(units[0].outputs, Names{"a"});
  EXPECT_EQ(units[1].nodes.size(), 3U);
}

// A fixed batch of 4 beside another axis of 4.
TEST(Units, AnAxisOfTheSameSizeIsNotTheBatch) {
  const auto net = [](Dim batch) {
    Graph graph;
    Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {batch, 4, 8, 8}));
    Value& swapped = graph.add("Transpose", "swap", {&conv(graph, "a", x, 4, 4)}).output();
    swapped.producer()->attrs["perm"] = std::vector<std::int64_t>{1, 0, 2, 3};
    Value& back = graph.add("Transpose", "back", {&relu(graph, "relu", swapped)}).output();
    back.producer()->attrs["perm"] = std::vector<std::int64_t>{1, 0, 2, 3};
    graph.add_output(conv(graph, "b", back, 4, 4));
    infer_shapes(graph);
    return graph;
  };
  const Graph fixed = net(4), open = net(Dim::symbol("N"));
  const std::vector<Unit> units = find_units(fixed, {"layer", {}});
  EXPECT_EQ(units[0].outputs, Names{"back"});
  EXPECT_EQ(layers_of(units), layers_of(find_units(open, {"layer", {}})));
}

// What find_units() names, it takes back: all of them give the same units, some of them longer ones.
TEST(Units, AreFoundByTheirOwnNames) {
  const Graph graph = residual_net();
  for (const char* pattern : {"block", "layer"}) {
    const std::vector<Unit> units = find_units(graph, {pattern, {}});
    std::vector<std::string> names;
    std::vector<Names> layers;
    for (const Unit& unit : units) {
      names.push_back(unit.name);
      if (!unit.layers.empty()) layers.push_back(unit.layers);  // what has none is no unit of its own then
    }
    EXPECT_EQ(layers_of(find_units(graph, {"block", names})), layers) << pattern;
    for (const Unit& unit : units) EXPECT_EQ(find_unit(graph, unit.name).layers, unit.layers) << unit.name;
  }
  EXPECT_EQ(
      layers_of(find_units(graph, {"layer", {"block0"}})),
      (std::vector<Names>{{"stem.conv", "block0.conv1", "block0.conv2"}, {"block1.conv1", "block1.conv2", "head"}}));
  const Unit relu = find_unit(graph, "stem.relu");
  EXPECT_EQ(relu.inputs, Names{graph.find_node("stem.relu")->input(0)->name()});
  EXPECT_EQ(relu.outputs, Names{graph.find_node("stem.relu")->output().name()});
  EXPECT_ERROR(find_unit(graph, "block7"), "unknown block, layer or node 'block7'", "block0");
}

// Two blocks of one name. In two layers of the second one items are not rows: they are a unit together.
Graph swapping_net() {
  at::manual_seed(3);
  Graph graph;
  const auto swap = [&](const std::string& name, Value& x) -> Value& {
    Node& node = graph.add("Transpose", name, {&x});
    node.attrs["perm"] = std::vector<std::int64_t>{1, 0, 2, 3};
    return node.output();
  };
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 8, 8, 8}));
  Value& inner = relu(graph, "l0.relu", conv(graph, "l0.a", *x, 8, 8));
  x = &graph.add("Add", "l0.add", {&conv(graph, "l0.b", inner, 8, 8), x}).output();
  Value* swapped = &swap("l0.swap", *x);
  for (const std::string name : {"l0.w1", "l0.w3"})
    swapped = &graph.add("MatMul", name, {swapped, &graph.add_constant(name + ".weight", at::randn({8, 8}))}).output();
  Value& back = swap("l0.back", *swapped);
  x = &graph.add("Add", "l0.add2", {&conv(graph, "l0.w2", back, 8, 8), x}).output();
  graph.add_output(conv(graph, "head", *x, 8, 4));
  infer_shapes(graph);
  return graph;
}

TEST(Units, ABlockGoesBeforeALayersUnitOfItsName) {
  const Graph graph = swapping_net();
  ASSERT_EQ(find_unit(graph, "l0").layers, (Names{"l0.a", "l0.b"}));
  const std::vector<Unit> layers = find_units(graph, {"layer", {}});
  ASSERT_TRUE(std::any_of(layers.begin(), layers.end(), [](const Unit& unit) {
    return unit.name == "l0" && unit.layers.front() == "l0.w1";
  })) << testing::PrintToString(layers_of(layers));
  EXPECT_EQ(layers_of(find_units(graph, {"block", {"l0"}})).front(), (Names{"l0.a", "l0.b"}));
}

TEST(Units, EndsCanBeGiven) {
  const std::vector<Unit> units = find_units(residual_net(), {"block", {"block0.conv2"}});
  EXPECT_EQ(layers_of(units), (std::vector<Names>{{"stem.conv", "block0.conv1", "block0.conv2"},
                                                  {"block1.conv1", "block1.conv2", "head"}}));
  EXPECT_ERROR(find_units(residual_net(), {"block", {"block0.conv3"}}), "unknown layer or unit 'block0.conv3' in",
               "block0.conv2");
  EXPECT_ERROR(find_units(residual_net(), {"block", {"block0.conv1"}}), "no unit can end with 'block0.conv1'");
  EXPECT_ERROR(find_units(residual_net(), {"bloc", {}}), "unknown unit pattern 'bloc'", "block");
}

TEST(Units, AChainIsCutIntoThrees) {
  Graph graph;
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 8, 8}));
  for (const std::string name : {"a", "b", "c", "d"}) x = &relu(graph, name + ".relu", conv(graph, name, *x, 4, 4));
  graph.add_output(*x);
  infer_shapes(graph);
  EXPECT_EQ(layers_of(find_units(graph)), (std::vector<Names>{{"a", "b", "c"}, {"d"}}));
}

// A mask that all blocks read, and a skip connection over the whole network: no place that one value passes alone.
TEST(Units, ValuesThatLiveLongAreSetAside) {
  Graph graph;
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 8, 8}));
  Value& mask = graph.add_input("mask", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 1, 8, 8}));
  x = &conv(graph, "first", *x, 4, 4);
  Value& skip = *x;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "block" + std::to_string(i);
    Value& masked = graph.add("Mul", name + ".mask", {x, &mask}).output();
    Value& inner = relu(graph, name + ".relu", conv(graph, name + ".conv1", masked, 4, 4));
    x = &graph.add("Add", name + ".add", {&conv(graph, name + ".conv2", inner, 4, 4), x}).output();
  }
  x = &graph.add("Add", "join", {x, &skip}).output();
  graph.add_output(conv(graph, "last", *x, 4, 4));
  infer_shapes(graph);
  const std::vector<Unit> units = find_units(graph);
  expect_whole(graph, units);
  std::vector<Names> blocks;
  for (const Unit& unit : units)
    if (unit.layers.size() == 2) blocks.push_back(unit.layers);
  // The block where the skip connection begins falls apart: what it adds has been set aside.
  ASSERT_EQ(blocks.size(), 6U) << testing::PrintToString(layers_of(units));
  EXPECT_EQ(blocks[2], (Names{"block3.conv1", "block3.conv2"}));
}

// What is reshaped so that items are no longer rows cannot be cut there.
TEST(Units, NoUnitEndsWhereItemsAreNotRows) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 8, 8}));
  Value& swapped = graph.add("Transpose", "swap", {&conv(graph, "a", x, 4, 4)}).output();
  swapped.producer()->attrs["perm"] = std::vector<std::int64_t>{1, 0, 2, 3};
  Value& back = graph.add("Transpose", "back", {&relu(graph, "relu", swapped)}).output();
  back.producer()->attrs["perm"] = std::vector<std::int64_t>{1, 0, 2, 3};
  graph.add_output(conv(graph, "b", back, 4, 4));
  infer_shapes(graph);
  const std::vector<Unit> units = find_units(graph, {"layer", {}});
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].outputs, Names{"back"});
}

}  // namespace
}  // namespace quench
