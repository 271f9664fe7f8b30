// The whole of quantize() depends only on the set of images, corrections included: for the defaults of every platform
// the model is the same to the bit in whatever order the images come, also where a stage looks at a few of them only.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/op.h"
#include "quench/platform.h"
#include "quench/quantize.h"

namespace quench {
namespace {

constexpr std::int64_t kItems = 160;  // more than any stage looks at

// Something for every correction: convolutions with a ReLU6 between them, a norm with outliers in front of a MatMul.
Graph network() {
  at::manual_seed(41);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 6, 6}));
  const auto conv = [&](const std::string& name, Value& from, at::IntArrayRef sizes, std::int64_t group) -> Value& {
    const at::Tensor spread = at::pow(2, at::randn({sizes[0], 1, 1, 1}));
    Value& weight = graph.add_constant(name + ".weight", at::randn(sizes) * 0.3 * spread);
    Node& node = graph.add("Conv", name, {&from, &weight, &graph.add_constant(name + ".bias", at::randn({sizes[0]}))});
    const std::int64_t pad = sizes[2] / 2;
    node.attrs["pads"] = std::vector<std::int64_t>{pad, pad, pad, pad};
    node.attrs["group"] = group;
    return node.output();
  };
  Value& low = graph.add_constant("low", at::zeros({}));
  Value& high = graph.add_constant("high", at::full({}, 6.0));
  const auto relu6 = [&](const std::string& name, Value& from) -> Value& {
    return graph.add("Clip", name, {&from, &low, &high}).output();
  };
  Value& wide = relu6("relu1", conv("conv1", x, {16, 3, 3, 3}, 1));
  Value& deep = relu6("relu2", conv("conv2", wide, {16, 1, 3, 3}, 16));
  Value& last = conv("conv3", deep, {16, 16, 1, 1}, 1);
  Value& shape = graph.add_constant("shape", at::tensor({0, 16, 36}, at::kLong));
  Node& rows = graph.add("Transpose", "rows", {&graph.add("Reshape", "flat", {&last, &shape}).output()});
  rows.attrs["perm"] = std::vector<std::int64_t>{0, 2, 1};
  at::Tensor gamma = at::ones({16});
  gamma[5] = 40.0;
  Node& norm = graph.add("LayerNormalization", "norm",
                         {&rows.output(), &graph.add_constant("gamma", gamma), &graph.add_constant("beta", gamma / 4)});
  Value& weight = graph.add_constant("fc.weight", at::randn({16, 12}));
  graph.add_output(graph.add("Neg", "y", {&graph.add("MatMul", "fc", {&norm.output(), &weight}).output()}).output());
  infer_shapes(graph);
  return graph;
}

JobConfig job(const std::string& platform) {
  JobConfig config;
  config.quant.platform = platform;
  if (find_platform(platform).user_schemes)
    for (QuantSettings* settings : {&config.quant.weight, &config.quant.activation}) {
      settings->bits = 8;
      settings->observer = settings == &config.quant.weight ? "min_max" : "mse";
      settings->fake_quant = "fixed";
    }
  return config;
}

std::string quantized_text(const JobConfig& config, const at::Tensor& items) {
  const Quantized result = quantize(network(), TensorData(items), config);
  return to_text(result.model.graph, {.data = false}) + to_yaml(result.model.plan);
}

class AnyOrder : public testing::TestWithParam<std::string> {
 protected:
  static void expect_same(const JobConfig& config) {
    at::manual_seed(42);
    const at::Tensor items = at::randn({kItems, 3, 6, 6}) * at::pow(2, at::randn({kItems, 1, 1, 1}));
    EXPECT_EQ(quantized_text(config, items), quantized_text(config, items.index({at::randperm(kItems)})));
  }
};

TEST_P(AnyOrder, GivesTheSameModel) { expect_same(job(GetParam())); }

TEST_P(AnyOrder, GivesTheSameModelWithEveryCorrection) {
  JobConfig config = job(GetParam());
  config.equalize = config.smooth = true;
  config.bias_correction = BiasCorrection::kSequential;
  expect_same(config);
}

INSTANTIATE_TEST_SUITE_P(Platforms, AnyOrder, testing::ValuesIn(PlatformRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

// Otherwise the tests above compare nothing.
TEST(AnyOrderNetwork, IsCorrectedInEveryWay) {
  JobConfig config = job("onnxruntime");
  config.equalize = config.smooth = true;
  const Quantized result = quantize(network(), TensorData(at::randn({kItems, 3, 6, 6})), config);
  ASSERT_TRUE(result.record.equalized && result.record.smoothed && result.record.corrected);
  EXPECT_EQ(result.record.equalized->pairs.size(), 2U);
  EXPECT_FALSE(result.record.equalized->pairs.empty() || result.record.equalized->pairs[0].clip.empty());
  EXPECT_TRUE(result.record.smoothed->changed());
  EXPECT_TRUE(result.record.corrected->changed());
}

}  // namespace
}  // namespace quench
