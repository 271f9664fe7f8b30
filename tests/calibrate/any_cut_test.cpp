// What calibration finds depends only on the set of images: for the defaults of every platform, scales are equal to
// the bit whatever the batch and the order of the images, and up to rounding if the model fixes another batch.
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/calibrate.h"
#include "quench/platform.h"
#include "quench/prepare.h"

namespace quench {
namespace {

// Convolutions of three kinds, a residual sum, pools and a linear layer, with weights that round.
Graph network(std::int64_t batch = -1) {
  at::manual_seed(31);
  Graph graph;
  const Dim first = batch > 0 ? Dim(batch) : Dim::symbol("N");
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {first, Dim(3), Dim(17), Dim(17)}));
  const auto conv = [&](const std::string& name, Value& from, at::IntArrayRef sizes, std::int64_t group) -> Value& {
    Value& weight = graph.add_constant(name + ".weight", at::randn(sizes) * 0.3);
    Value& bias = graph.add_constant(name + ".bias", at::randn({sizes[0]}) * 0.1);
    Node& node = graph.add("Conv", name, {&from, &weight, &bias});
    const std::int64_t pad = sizes[2] / 2;
    node.attrs["pads"] = std::vector<std::int64_t>{pad, pad, pad, pad};
    node.attrs["group"] = group;
    return node.output();
  };
  Value& relu1 = graph.add("Relu", "relu1", {&conv("conv1", x, {24, 3, 3, 3}, 1)}).output();
  Value& relu2 = graph.add("Relu", "relu2", {&conv("conv2", relu1, {24, 1, 3, 3}, 24)}).output();
  Value& conv3 = conv("conv3", relu2, {24, 24, 1, 1}, 1);
  Value& relu3 = graph.add("Relu", "relu3", {&graph.add("Add", "add", {&conv3, &relu1}).output()}).output();
  Value& pool = graph.add("GlobalAveragePool", "pool", {&relu3}).output();
  Value& weight = graph.add_constant("fc.weight", at::randn({10, 24}));
  Value& bias = graph.add_constant("fc.bias", at::randn({10}));
  Node& fc = graph.add("Gemm", "fc", {&graph.add("Flatten", "flat", {&pool}).output(), &weight, &bias});
  fc.attrs["transB"] = std::int64_t{1};
  graph.add_output(fc.output());
  run_passes(graph, {"infer_shapes"});
  return graph;
}

// Images whose sizes differ, so that ranges grow on the way.
const at::Tensor& images() {
  static const at::Tensor all = [] {
    at::manual_seed(32);
    return at::randn({37, 3, 17, 17}) * at::pow(2, at::randn({37, 1, 1, 1}));
  }();
  return all;
}

CalibrationRecord calibrated(const std::string& platform, const at::Tensor& items, std::int64_t batch,
                             bool fixed = false) {
  QuantConfig config;
  if (find_platform(platform).user_schemes)
    for (QuantSettings* settings : {&config.weight, &config.activation}) {
      settings->bits = 8;
      settings->observer = settings == &config.weight ? "min_max" : "mse";
      settings->fake_quant = "fixed";
    }
  QuantizedModel graph = prepare_by_platform(network(fixed ? batch : -1), platform, config);
  CalibrationOptions options;
  options.batch = batch;
  return calibrate(graph, TensorData(items), options);
}

class AnyCut : public testing::TestWithParam<std::string> {
 protected:
  static void expect_same(const CalibrationRecord& found, const CalibrationRecord& wanted, const std::string& what) {
    EXPECT_EQ(found.images, wanted.images);
    ASSERT_EQ(found.quantizers.size(), wanted.quantizers.size());
    for (std::size_t i = 0; i < wanted.quantizers.size(); ++i)
      EXPECT_EQ(found.quantizers[i].params, wanted.quantizers[i].params)
          << wanted.quantizers[i].value << " (" << wanted.quantizers[i].observer << ") " << what;
  }
};

TEST_P(AnyCut, GivesTheSameScales) {
  const CalibrationRecord wanted = calibrated(GetParam(), images(), 32);
  expect_same(calibrated(GetParam(), images(), 1), wanted, "by batches of 1");
  expect_same(calibrated(GetParam(), images(), 8), wanted, "by batches of 8");
  at::manual_seed(33);
  expect_same(calibrated(GetParam(), images().index({at::randperm(37)}), 32), wanted, "in another order");
}

// 37 images in batches of 8: the last one is padded with copies of its last image. The network's own values round
// differently at another batch size: sums of 216 products at most, so that 216 * 2^-24 bounds what ranges differ by.
TEST_P(AnyCut, AFixedBatchMakesNoOther) {
  const CalibrationRecord wanted = calibrated(GetParam(), images(), 32);
  for (const std::int64_t batch : {1, 8}) {
    const CalibrationRecord found = calibrated(GetParam(), images(), batch, true);
    EXPECT_EQ(found.images, 37);
    ASSERT_EQ(found.quantizers.size(), wanted.quantizers.size());
    for (std::size_t i = 0; i < wanted.quantizers.size(); ++i) {
      const QParams &one = found.quantizers[i].params, &other = wanted.quantizers[i].params;
      EXPECT_EQ(one.zero_point, other.zero_point) << wanted.quantizers[i].value;
      for (std::size_t k = 0; k < other.scale.size(); ++k)
        EXPECT_NEAR(one.scale[k], other.scale[k], other.scale[k] * 216 / (1 << 24)) << wanted.quantizers[i].value;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, AnyCut, testing::ValuesIn(PlatformRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace quench
