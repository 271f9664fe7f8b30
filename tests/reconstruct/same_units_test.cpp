// The units of a network are the same with and without quantizers, and what smoothing puts beside its layers: names
// that 'inspect --units' shows are those of the run.
#include <gtest/gtest.h>

#include <algorithm>

#include "quench/platform.h"
#include "quench/ptq.h"
#include "reconstruct/nets.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

// Of units that have layers; the others are only run, and a quantizer that several layers read is one of them.
std::vector<std::pair<std::string, Names>> layers_by_name(const Graph& graph, const UnitOptions& options) {
  std::vector<std::pair<std::string, Names>> found;
  for (const Unit& unit : find_units(graph, options))
    if (!unit.layers.empty()) found.emplace_back(unit.name, unit.layers);
  return found;
}

Names names_of(const Graph& graph, const char* pattern) {
  Names names;
  for (const Unit& unit : find_units(graph, {pattern, {}})) names.push_back(unit.name);
  return names;
}

void expect_same_units(const Graph& graph, const Graph& quantized) {
  for (const char* pattern : {"block", "layer"}) {
    EXPECT_EQ(layers_by_name(quantized, {pattern, {}}), layers_by_name(graph, {pattern, {}}));
    const UnitOptions named = {"block", names_of(graph, pattern)};
    EXPECT_EQ(layers_by_name(quantized, named), layers_by_name(graph, {pattern, {}}));
  }
}

void expect_same_units_on_platforms(const Graph& graph) {
  for (const char* platform : {"academic", "tensorrt_qdq", "onnxruntime", "academic_nlp"}) {
    SCOPED_TRACE(platform);
    QuantConfig config = std::string(platform).starts_with("academic") ? few_bits(4) : QuantConfig();
    if (platform == std::string("academic")) config.additional_ops = {"MatMul"};
    expect_same_units(graph, prepare_by_platform(graph, platform, config).graph);
  }
}

Value& image(Graph& graph, const std::string& name) {
  return graph.add_input(name, TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 8, 8}));
}

// Each of these inputs goes through two layers of its own, one after the other in the file; then they are joined.
Graph branches(const Names& inputs) {
  at::manual_seed(3);
  Graph graph;
  std::vector<Value*> ends;
  for (const std::string& name : inputs) ends.push_back(&image(graph, name));
  for (const char* number : {"1", "2"})
    for (std::size_t i = 0; i < inputs.size(); ++i)
      ends[i] = &relu(graph, inputs[i] + number + ".relu", conv(graph, inputs[i] + number, *ends[i], 4, 4));
  Value* sum = ends[0];
  for (std::size_t i = 1; i < ends.size(); ++i) sum = &graph.add("Add", "sum" + inputs[i], {sum, ends[i]}).output();
  graph.add_output(conv(graph, "last", *sum, 4, 4));
  infer_shapes(graph);
  return graph;
}

TEST(SameUnits, OfTwoInputs) {
  const Graph graph = branches({"a", "b"});
  EXPECT_EQ(names_of(graph, "layer"), (Names{"a1", "a2", "b1", "b2", "last"}));
  expect_same_units_on_platforms(graph);
}

TEST(SameUnits, OfThreeInputs) {
  const Graph graph = branches({"c", "a", "b"});
  EXPECT_EQ(names_of(graph, "layer").front(), "c1");
  expect_same_units_on_platforms(graph);
}

// Two inputs go through the same weights.
TEST(SameUnits, OfASiameseNetwork) {
  at::manual_seed(3);
  Graph graph;
  Value &left = image(graph, "left"), &right = image(graph, "right");
  Value &w1 = graph.add_constant("w1", at::randn({4, 4, 1, 1})),
        &w2 = graph.add_constant("w2", at::randn({4, 4, 1, 1}));
  const auto branch = [&](const std::string& name, Value& x) -> Value& {
    Value& inner = relu(graph, name + ".relu", graph.add("Conv", name + ".conv1", {&x, &w1}).output());
    return graph.add("Conv", name + ".conv2", {&inner, &w2}).output();
  };
  Value& l = branch("l", left);
  graph.add_output(graph.add("Sub", "difference", {&l, &branch("r", right)}).output());
  infer_shapes(graph);
  expect_same_units_on_platforms(graph);
}

Value& linear(Graph& graph, const std::string& name, Value& x) {
  return graph.add("MatMul", name, {&x, &graph.add_constant(name + ".weight", at::randn({8, 8}) / 3)}).output();
}

// A norm in front of each half of a block, beside the sum that is added later.
Graph pre_norm_net() {
  at::manual_seed(3);
  Graph graph;
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 6, 8}));
  const auto norm = [&](const std::string& name) -> Value& {
    return graph.add("LayerNormalization", name, {x, &graph.add_constant(name + ".weight", at::ones({8}))}).output();
  };
  x = &linear(graph, "embed", *x);
  for (const std::string name : {"0", "1"}) {
    Value& in = norm(name + ".norm1");
    Value &q = linear(graph, name + ".q", in), &k = linear(graph, name + ".k", in);
    Value& seen = graph.add("Mul", name + ".mul", {&q, &k}).output();
    x = &graph.add("Add", name + ".add1", {&linear(graph, name + ".out", seen), x}).output();
    Value& wide = relu(graph, name + ".relu", linear(graph, name + ".fc1", norm(name + ".norm2")));
    x = &graph.add("Add", name + ".add2", {&linear(graph, name + ".fc2", wide), x}).output();
  }
  graph.add_output(linear(graph, "head", *x));
  infer_shapes(graph);
  return graph;
}

// Once "0.q" and "0.k", and with a norm in front of one layer that and the next one, were a unit.
TEST(LayerUnits, AreSingleBehindANormThatComesFirst) {
  const Graph graph = pre_norm_net();
  Names single;
  for (const auto& [name, layers] : layers_by_name(graph, {"layer", {}})) {
    EXPECT_EQ(layers, Names{name});
    single.push_back(name);
  }
  EXPECT_EQ(single,
            (Names{"embed", "0.q", "0.k", "0.out", "0.fc1", "0.fc2", "1.q", "1.k", "1.out", "1.fc1", "1.fc2", "head"}));
  for (const Unit& unit : find_units(graph, {"layer", {}})) EXPECT_EQ(unit.outputs.size(), 1U) << unit.name;
  expect_same_units_on_platforms(graph);
}

// Half of the channels pass beside the layers: the Split is only run.
TEST(LayerUnits, AreSingleBehindASplit) {
  at::manual_seed(3);
  Graph graph;
  Value* x = &conv(graph, "stem", image(graph, "x"), 4, 8);
  for (const std::string name : {"0", "1"}) {
    Node& halves = graph.add("Split", name + ".split", {x}, 2);
    halves.attrs = {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}};
    Value& inner = relu(graph, name + ".relu", conv(graph, name + ".conv1", *halves.outputs()[1], 4, 4));
    Node& whole =
        graph.add("Concat", name + ".concat", {halves.outputs()[0], &conv(graph, name + ".conv2", inner, 4, 4)});
    whole.attrs["axis"] = std::int64_t{1};
    x = &whole.output();
  }
  graph.add_output(conv(graph, "head", *x, 8, 4));
  infer_shapes(graph);
  const std::vector<Unit> units = find_units(graph, {"layer", {}});
  EXPECT_EQ(names_of(graph, "layer"),
            (Names{"stem", "0.split", "0.conv1", "0.conv2", "0.concat", "1.conv1", "1.conv2", "head"}));
  EXPECT_EQ(units[1].outputs.size(), 2U);
  EXPECT_FALSE(units[1].learns());
  EXPECT_TRUE(units[2].learns());
  expect_same_units_on_platforms(graph);
  const auto data = dataset_of({at::randn({4, 8, 8}), at::randn({4, 8, 8})});
  QuantizedModel model = prepare_by_platform(graph, "academic", few_bits(4));
  calibrate(model, *data);
  const ReconstructOptions options = {.method = "adaround", .options = Options{{"max_count", 2.0}}};
  EXPECT_EQ(reconstruct(model, *data, options).units.size(), 6U);
}

// Items of which one channel is huge in the first row.
std::unique_ptr<Dataset> spikes() {
  std::vector<at::Tensor> items;
  for (int i = 0; i < 16; ++i) {
    items.push_back(at::arange(24, at::kFloat).add(7.0 * i).sin().reshape({3, 8}));
    items.back().slice(0, 1).select(1, 2).zero_();
    items.back().select(1, 2).mul_(20000);
  }
  return dataset_of(std::move(items));
}

// Smoothing multiplies such a channel in float, beside each layer: no layers of their own.
TEST(SameUnits, WithOutliersBesideTheLayers) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8}));
  Value& normed = graph.add("Mul", "normed", {&x, &graph.add_constant("gamma", at::ones({8}))}).output();
  at::Tensor weight = at::arange(64, at::kFloat).mul(1.7).cos().reshape({8, 8});
  weight[2] = 0;
  weight[2][0] = 40;
  const auto layer = [&](const std::string& name) -> Value& {
    Value& y = graph.add("MatMul", name, {&normed, &graph.add_constant(name + ".weight", weight.clone())}).output();
    return graph.add("Add", name + ".biased", {&y, &graph.add_constant(name + ".bias", at::ones({8}))}).output();
  };
  Value& a = layer("a");
  Value& both = graph.add("Mul", "both", {&a, &layer("b")}).output();
  graph.add_output(linear(graph, "head", both));
  infer_shapes(graph);
  QuantConfig config;
  config.platform = "tensorrt_qdq";
  QuantPlan plan = make_plan(graph, config);
  Graph smoothed(graph);
  ASSERT_EQ(smooth(smoothed, plan, *spikes(), {}).tensors.at(0).outliers, 1);
  ASSERT_NE(smoothed.find_node("a.outliers"), nullptr);
  expect_same_units(graph, smoothed);
  const Graph quantized = insert_quantizers(smoothed, plan).graph;
  expect_same_units(graph, quantized);
  EXPECT_NO_THROW(units_of_method(quantized, "brecq", Options{{"units", std::string("a")}}));
}

}  // namespace
}  // namespace quench
