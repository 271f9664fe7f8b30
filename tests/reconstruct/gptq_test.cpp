// Where learned rounding begins with `begin: gptq`, by runs without an iteration.
#include <gtest/gtest.h>

#include "quench/executor.h"
#include "quench/quantizers.h"
#include "reconstruct/nets.h"

namespace quench {
namespace {

using Sizes = std::vector<std::int64_t>;

// Channels that depend on each other: all are mixed from two.
std::unique_ptr<Dataset> mixed_items(const Sizes& sizes) {
  at::manual_seed(5);
  const at::Tensor mix = at::randn({sizes[0], 2});
  Sizes two = sizes;
  two[0] = 2;
  std::vector<at::Tensor> items;
  for (int i = 0; i < 64; ++i)
    items.push_back(mix.matmul(at::randn(two).reshape({2, -1})).reshape(sizes) + 0.1 * at::randn(sizes));
  return dataset_of(std::move(items));
}

struct Layer {
  const char* name;
  const char* op;
  Sizes item, weight;
  std::map<std::string, Attr> attrs;
};

Graph graph_of(const Layer& layer) {
  at::manual_seed(3);
  Graph graph;
  std::vector<Dim> dims = {Dim::symbol("N")};
  dims.insert(dims.end(), layer.item.begin(), layer.item.end());
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, dims));
  Node& node = graph.add(layer.op, "layer", {&x, &graph.add_constant("weight", at::randn(layer.weight))});
  node.attrs = layer.attrs;
  graph.add_output(node.output());
  infer_shapes(graph);
  return graph;
}

QuantizedModel calibrated(const Graph& graph, const Dataset& data) {
  QuantConfig config = few_bits(4);
  config.additional_ops = {"MatMul", "ConvTranspose"};
  LayerRule fewer;  // else the only layer has 8 bits
  fewer.match = "layer";
  fewer.weight.bits = 3;
  config.layers = {fewer};
  QuantizedModel model = prepare_by_platform(graph, "academic", config);
  calibrate(model, data);
  return model;
}

UnitRecord begun(QuantizedModel& model, const Dataset& data, const std::string& round_mode) {
  ReconstructOptions options;
  options.method = "adaround";
  options.options = Options{{"max_count", 0.0}, {"begin", std::string("gptq")}, {"round_mode", round_mode}};
  return reconstruct(model, data, options).units.at(0);
}

class EveryProduct : public testing::TestWithParam<Layer> {};

TEST_P(EveryProduct, BeginsWithASmallerErrorThanTheNearestCodes) {
  const auto data = mixed_items(GetParam().item);
  for (const char* mode : {"straight_through", "learned_hard_sigmoid"}) {
    QuantizedModel model = calibrated(graph_of(GetParam()), *data);
    const UnitRecord record = begun(model, *data, mode);
    EXPECT_LT(record.error_after, 0.9 * record.error_before) << mode;
    EXPECT_GT(record.moved, 0.05) << mode;
    EXPECT_EQ(record.note, "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, EveryProduct,
    testing::Values(
        Layer{"conv", "Conv", {8, 9, 7}, {6, 8, 3, 3}, {{"pads", Sizes{1, 0, 0, 2}}, {"strides", Sizes{2, 1}}}},
        Layer{"grouped", "Conv", {8, 6, 6}, {6, 4, 3, 3}, {{"group", std::int64_t{2}}, {"dilations", Sizes{2, 2}}}},
        Layer{"conv1d", "Conv", {8, 12}, {6, 8, 3}, {{"pads", Sizes{2, 1}}, {"strides", Sizes{2}}}},
        Layer{"gemm", "Gemm", {16}, {16, 12}, {}},
        Layer{"gemm_turned", "Gemm", {16}, {12, 16}, {{"transB", std::int64_t{1}}}},
        Layer{"matmul", "MatMul", {16}, {16, 12}, {}}),
    [](const auto& info) { return info.param.name; });

// Input by input, with the inverse of the second moments of the inputs that are left, as the method is derived.
at::Tensor plain_gptq(at::Tensor weight, const at::Tensor& x, const Node& quantizer) {
  weight = weight.to(at::kDouble).clone();
  at::Tensor moments = x.to(at::kDouble).t().matmul(x.to(at::kDouble));
  moments.diagonal().add_(moments.diagonal().mean() * 0.01);
  const std::int64_t inputs = weight.size(1);
  at::Tensor result = at::zeros_like(weight);
  for (std::int64_t j = 0; j < inputs; ++j) {
    const at::Tensor rounded =
        fake_quant_of(quantizer)->quantize(weight.to(at::kFloat), fake_quant_tensors(quantizer), {}).to(at::kDouble);
    result.select(1, j).copy_(rounded.select(1, j));
    const at::Tensor left = at::linalg_inv(moments.narrow(0, j, inputs - j).narrow(1, j, inputs - j))[0];
    const at::Tensor error = (weight.select(1, j) - rounded.select(1, j)) / left[0];
    weight.narrow(1, j, inputs - j).sub_(error.unsqueeze(1) * left.unsqueeze(0));
  }
  return result;
}

TEST(Gptq, RoundsAsItsDerivationSays) {
  const Layer layer{"gemm", "Gemm", {16}, {12, 16}, {{"transB", std::int64_t{1}}}};
  const auto data = mixed_items(layer.item);
  QuantizedModel model = calibrated(graph_of(layer), *data);
  const Node& node = *model.graph.find_node("layer");
  const Node& quantizer = *quantizer_in_front(node, 1);
  const Batch batch = *Loader(*data, {.batch_size = 64}).next();
  const std::string x = node.input(0)->name();
  const at::Tensor inputs = Executor(model.graph).run(bind_inputs(model.graph, batch), {x}).at(x).tensor();
  const at::Tensor wanted = plain_gptq(quantizer.input(0)->tensor(), inputs, quantizer);
  begun(model, *data, "straight_through");
  const at::Tensor given = quantizer_in_front(*model.graph.find_node("layer"), 1)->input(0)->tensor();
  // float32 against double: a value next to the middle between two codes may round either way, and with it what
  // follows.
  EXPECT_GE(at::isclose(given, wanted.to(at::kFloat), 1e-4, 1e-6).to(at::kDouble).mean().item<double>(), 0.95);
}

TEST(Gptq, SaysWhichLayersItCannotBegin) {
  const Layer layer{"up", "ConvTranspose", {4, 5, 5}, {4, 6, 3, 3}, {}};
  const auto data = mixed_items(layer.item);
  QuantizedModel model = calibrated(graph_of(layer), *data);
  EXPECT_NE(begun(model, *data, "learned_hard_sigmoid").note.find("'layer' begins at the nearest codes"),
            std::string::npos);
}

}  // namespace
}  // namespace quench
