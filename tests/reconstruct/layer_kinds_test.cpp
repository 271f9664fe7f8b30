// Layers of other kinds than convolutions (rounding_test.cpp) learn: transposed ones, products with weights, attention;
// networks of several inputs; units that a user names; and on every platform.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "quench/platform.h"
#include "quench/quantizers.h"
#include "reconstruct/nets.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kWidth = 8;

ReconstructOptions by(const std::string& method, const std::string& pattern, double iterations = 150) {
  ReconstructOptions options;
  options.method = method;
  options.options = Options{{"max_count", iterations}, {"batch", 16.0}, {"lr", 1e-2}, {"pattern", pattern}};
  return options;
}

std::unique_ptr<Dataset> random_items(const Sizes& sizes, int count) {
  at::manual_seed(5);
  std::vector<at::Tensor> items;
  for (int i = 0; i < count; ++i) items.push_back(at::randn(sizes));
  return dataset_of(std::move(items));
}

// The academic platform, with the operators that it leaves alone; first and last layer have 8 bits.
QuantizedModel calibrated(const Graph& graph, const Dataset& data, int bits = 3, int activation_bits = 0) {
  QuantConfig config = few_bits(bits);
  if (activation_bits > 0) config.activation.bits = activation_bits;
  config.additional_ops = {"ConvTranspose", "MatMul"};
  QuantizedModel model = prepare_by_platform(graph, "academic", config);
  calibrate(model, data);
  return model;
}

void expect_on_grids(const Graph& graph) {
  for (const Node* node : quantizers_of(graph)) {
    if (fake_quant_spec(*node).role != Role::kWeight) continue;
    const at::Tensor weight = node->input(0)->tensor();
    EXPECT_TRUE(weight.equal(fake_quant_of(*node)->quantize(weight, fake_quant_tensors(*node), {}))) << node->name();
  }
}

struct LayerKind {
  const char* name;
  const char* op;
  Sizes item, weight;
  std::int64_t group = 1;
};

class EveryLayer : public testing::TestWithParam<LayerKind> {};

Value& layer(Graph& graph, const LayerKind& kind, const std::string& name, Value& x) {
  const double fan_in = static_cast<double>(at::zeros(kind.weight).numel() / kWidth);
  Value& weight = graph.add_constant(name + ".weight", at::randn(kind.weight) / std::sqrt(fan_in));
  Node& node = graph.add(kind.op, name, {&x, &weight});
  const std::size_t axes = kind.weight.size() - 2;
  if (axes > 0) node.attrs["pads"] = Sizes(2 * axes, 1);
  if (kind.group > 1) node.attrs["group"] = kind.group;
  return node.output();
}

// Three of them in a row: the second has few bits.
TEST_P(EveryLayer, Learns) {
  const LayerKind& kind = GetParam();
  at::manual_seed(3);
  Graph graph;
  Dims dims = {Dim::symbol("N")};
  for (const std::int64_t size : kind.item) dims.emplace_back(size);
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, dims));
  for (const std::string name : {"first", "second"}) x = &relu(graph, name + ".relu", layer(graph, kind, name, *x));
  graph.add_output(layer(graph, kind, "third", *x));
  infer_shapes(graph);
  const auto data = random_items(kind.item, 48);
  QuantizedModel model = calibrated(graph, *data, 3, 8);
  const ReconstructionRecord record = reconstruct(model, *data, by("brecq", "layer", 400));
  ASSERT_EQ(record.units.size(), 3U);
  EXPECT_EQ(record.units[1].layers, Names{"second"});
  EXPECT_EQ(record.units[1].note, "");
  EXPECT_GT(record.units[1].error_before, 0.001);
  EXPECT_LT(record.units[1].error_after, 0.9 * record.units[1].error_before);
  EXPECT_GT(record.units[1].moved, 0.01);
  expect_on_grids(model.graph);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryLayer,
                         testing::Values(LayerKind{"ConvTranspose1d", "ConvTranspose", {8, 16}, {8, 8, 3}},
                                         LayerKind{"ConvTranspose2d", "ConvTranspose", {8, 6, 6}, {8, 8, 3, 3}},
                                         LayerKind{"ConvTransposeGroups", "ConvTranspose", {8, 6, 6}, {8, 4, 3, 3}, 2},
                                         LayerKind{"Gemm", "Gemm", {8}, {8, 8}},
                                         LayerKind{"MatMul", "MatMul", {5, 8}, {8, 8}}),
                         [](const auto& info) { return info.param.name; });

// A transformer's block, with a mask of infinities for what is padding.
class Transformer {
 public:
  static constexpr std::int64_t kLength = 6;

  Graph graph(int blocks) {
    at::manual_seed(3);
    Value* x = &graph_.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), kLength, kWidth}));
    mask_ = &graph_.add_input("mask", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 1, kLength}));
    for (int i = 0; i < blocks; ++i) x = &block("block" + std::to_string(i), *x);
    graph_.add_output(linear("head", *x, kWidth, 4));
    infer_shapes(graph_);
    return std::move(graph_);
  }

  static std::unique_ptr<Dataset> data(int count) {
    at::manual_seed(5);
    std::vector<NamedValues> items;
    for (int i = 0; i < count; ++i) {
      at::Tensor mask = at::zeros({1, kLength});
      mask.narrow(1, kLength - i % 3, i % 3).fill_(-std::numeric_limits<float>::infinity());
      items.push_back({{"x", RtValue(at::randn({kLength, kWidth}))}, {"mask", RtValue(mask)}});
    }
    return dataset_of(count,
                      [items](std::int64_t index) { return Sample{.inputs = items[static_cast<std::size_t>(index)]}; });
  }

 private:
  Value& linear(const std::string& name, Value& x, std::int64_t in, std::int64_t out) {
    Value& weight = graph_.add_constant(name + ".weight", at::randn({in, out}) / std::sqrt(double(in)));
    return graph_.add("MatMul", name, {&x, &weight}).output();
  }
  Value& norm(const std::string& name, Value& x) {
    return graph_.add("LayerNormalization", name, {&x, &graph_.add_constant(name + ".weight", at::ones({kWidth}))})
        .output();
  }
  Value& block(const std::string& name, Value& x) {
    Value& in = norm(name + ".norm1", x);
    Value& keys = graph_.add("Transpose", name + ".swap", {&linear(name + ".k", in, kWidth, kWidth)}).output();
    keys.producer()->attrs["perm"] = Sizes{0, 2, 1};
    Value& scores = graph_.add("MatMul", name + ".scores", {&linear(name + ".q", in, kWidth, kWidth), &keys}).output();
    Value& masked = graph_.add("Add", name + ".masked", {&scores, mask_}).output();
    Value& share = graph_.add("Softmax", name + ".share", {&masked}).output();
    Value& seen = graph_.add("MatMul", name + ".seen", {&share, &linear(name + ".v", in, kWidth, kWidth)}).output();
    Value& sum = graph_.add("Add", name + ".add1", {&linear(name + ".out", seen, kWidth, kWidth), &x}).output();
    Value& wide = relu(graph_, name + ".relu", linear(name + ".fc1", norm(name + ".norm2", sum), kWidth, 16));
    return graph_.add("Add", name + ".add2", {&linear(name + ".fc2", wide, 16, kWidth), &sum}).output();
  }

  Graph graph_;
  Value* mask_ = nullptr;
};

TEST(Transformers, LearnAttentionAndWhatFollows) {
  const Graph graph = Transformer().graph(3);
  const auto data = Transformer::data(48);
  QuantizedModel model = calibrated(graph, *data, 4);
  const ReconstructionRecord record = reconstruct(model, *data, by("qdrop", "block"));
  std::vector<Names> layers;
  for (const UnitRecord& unit : record.units) {
    layers.push_back(unit.layers);
    std::sort(layers.back().begin(), layers.back().end());
    EXPECT_EQ(unit.note, "") << unit.name;
    if (unit.name != "head") EXPECT_LT(unit.error_after, unit.error_before) << unit.name;  // it has 8 bits
  }
  EXPECT_TRUE(record.notes.empty());
  ASSERT_EQ(layers.size(), 7U) << testing::PrintToString(layers);
  EXPECT_EQ(layers[2], (Names{"block1.k", "block1.out", "block1.q", "block1.v"}));
  EXPECT_EQ(layers[3], (Names{"block1.fc1", "block1.fc2"}));
  expect_on_grids(model.graph);
}

// Each input enters by a layer of its own; a unit reads what both give.
TEST(SeveralInputs, EachLearns) {
  at::manual_seed(3);
  Graph graph;
  Value& image = graph.add_input("image", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8, 8}));
  Value& depth = graph.add_input("depth", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 1, 8, 8}));
  const auto branch = [&](const std::string& name, Value& x, std::int64_t in) -> Value& {
    Value& inner = relu(graph, name + ".relu1", conv(graph, name + ".conv1", x, in, 8));
    return relu(graph, name + ".relu2", conv(graph, name + ".conv2", inner, 8, 8));
  };
  Value& both = graph.add("Add", "both", {&branch("image", image, 3), &branch("depth", depth, 1)}).output();
  Value& inner = relu(graph, "join.relu", conv(graph, "join.conv", both, 8, 8));
  graph.add_output(conv(graph, "last", inner, 8, 4));
  infer_shapes(graph);
  at::manual_seed(5);
  std::vector<NamedValues> items;
  for (int i = 0; i < 32; ++i)
    items.push_back({{"image", RtValue(at::randn({3, 8, 8}))}, {"depth", RtValue(at::randn({1, 8, 8}))}});
  const auto data =
      dataset_of(32, [items](std::int64_t index) { return Sample{.inputs = items[static_cast<std::size_t>(index)]}; });
  for (const std::string pattern : {"layer", "block"}) {
    QuantizedModel model = calibrated(graph, *data);
    const ReconstructionRecord record = reconstruct(model, *data, by("qdrop", pattern));
    Names layers;
    for (const UnitRecord& unit : record.units) {
      layers.insert(layers.end(), unit.layers.begin(), unit.layers.end());
      const bool has_few_bits = unit.layers.size() > 1 || unit.name.ends_with("conv2") || unit.name == "join.conv";
      if (has_few_bits) EXPECT_LT(unit.error_after, unit.error_before) << pattern << " " << unit.name;
    }
    EXPECT_EQ(layers.size(), 6U) << pattern;
  }
}

// A trunk with two heads, each of which is an output: the units of both learn, those of the trunk for both.
TEST(SeveralOutputs, EachLearns) {
  Graph graph = residual_net();
  Value& side = conv(graph, "side.conv1", graph.value("block0.relu2"), 8, 8);
  graph.add_output(conv(graph, "side.conv2", relu(graph, "side.relu", side), 8, 4));
  infer_shapes(graph);
  const auto data = random_images(32);
  for (const char* loss : {"mse", "fisher"}) {
    QuantizedModel model = calibrated(graph, *data);
    ReconstructOptions options = by("brecq", "block");
    options.options.set("loss", std::string(loss));
    const ReconstructionRecord record = reconstruct(model, *data, options);
    Names layers;
    for (const UnitRecord& unit : record.units) {
      layers.insert(layers.end(), unit.layers.begin(), unit.layers.end());
      const bool has_few_bits = unit.layers.size() > 1 || unit.name.ends_with("conv1");
      if (has_few_bits) EXPECT_LT(unit.error_after, unit.error_before) << loss << " " << unit.name;
    }
    EXPECT_EQ(layers.size(), 8U) << testing::PrintToString(layers) << testing::PrintToString(record.notes);
    expect_on_grids(model.graph);
  }
}

// As a user names them, across what would be several blocks.
TEST(NamedUnits, Learn) {
  const auto data = random_images(32);
  QuantizedModel model = calibrated_net(*data);
  ReconstructOptions options = by("brecq", "block");
  options.options.set("units", std::string("block0.conv2, block1.conv2"));
  const ReconstructionRecord record = reconstruct(model, *data, options);
  ASSERT_EQ(record.units.size(), 3U);
  EXPECT_EQ(record.units[0].layers, (Names{"stem.conv", "block0.conv1", "block0.conv2"}));
  for (int i = 0; i < 2; ++i)
    EXPECT_LT(record.units[i].error_after, record.units[i].error_before) << record.units[i].name;
}

// A weight that two units read cannot learn in one of them for the other.
TEST(SharedWeights, StayAndAreNamed) {
  at::manual_seed(3);
  Graph graph;
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8, 8}));
  x = &relu(graph, "a.relu", conv(graph, "a", *x, 3, 8));
  Value& weight = graph.add_constant("shared", at::randn({8, 8, 1, 1}) / 3);
  for (const std::string name : {"b", "c"})
    x = &relu(graph, name + ".relu", graph.add("Conv", name, {x, &weight}).output());
  graph.add_output(conv(graph, "d", *x, 8, 4));
  infer_shapes(graph);
  const auto data = random_images(8);
  QuantizedModel model = calibrated(graph, *data);
  const at::Tensor before = model.graph.value("shared").tensor().clone();
  const ReconstructionRecord record = reconstruct(model, *data, by("brecq", "layer", 5));
  ASSERT_EQ(record.units.size(), 4U);
  EXPECT_EQ(record.units[1].note, "'b' learns nothing: its weight is also that of 'c' in another unit");
  EXPECT_TRUE(before.equal(model.graph.value("shared").tensor()));
}

// Where codes are integers, weights learn; where they are not, each layer is named.
TEST(EveryPlatform, Learns) {
  const auto data = random_images(16);
  ReconstructOptions options = by("networkwise", "block", 5);
  options.options.set("lr", 0.3);
  options.options.set("joint_count", 5.0);
  for (const std::string& platform : PlatformRegistry::instance().names()) {
    QuantConfig config = platform.find("academic") != std::string::npos ? few_bits(4) : QuantConfig();
    if (platform == "mmrazor_academic") config.weight.symmetric = config.weight.is_signed = true;
    QuantizedModel model = prepare_by_platform(residual_net(), platform, config);
    calibrate(model, *data);
    double moved = 0;
    std::string notes;
    for (const UnitRecord& unit : reconstruct(model, *data, options).units) {
      moved += unit.moved;
      notes += unit.note;
    }
    EXPECT_NE(moved > 0, notes.find("'block0.conv1' learns nothing: its codes are not integers") != std::string::npos)
        << platform << " " << moved << " " << notes;
    if (moved > 0) expect_on_grids(model.graph);
  }
}

}  // namespace
}  // namespace quench
