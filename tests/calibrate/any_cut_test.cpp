// What calibration finds depends only on the set of images: for the defaults of every platform, scales are equal to
// the bit whatever the batch and the order of the images, and up to rounding if the model fixes another batch.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "calibrate/mixed_network.h"
#include "calibrate/small_graph.h"
#include "quench/calibrate.h"
#include "quench/platform.h"
#include "quench/prepare.h"

namespace quench {
namespace {

CalibrationRecord calibrated(const std::string& platform, const at::Tensor& items, std::int64_t batch,
                             bool fixed = false) {
  QuantConfig config;
  if (find_platform(platform).user_schemes)
    for (QuantSettings* settings : {&config.weight, &config.activation}) {
      settings->bits = 8;
      settings->observer = settings == &config.weight ? "min_max" : "mse";
      settings->fake_quant = "fixed";
    }
  QuantizedModel graph = prepare_by_platform(mixed_network(fixed ? batch : -1), platform, config);
  CalibrationOptions options;
  options.batch = batch;
  return calibrate(graph, TensorData(items), options);
}

class AnyCut : public testing::TestWithParam<std::string> {
 protected:
  static void expect_same(const CalibrationRecord& found, const CalibrationRecord& wanted, const std::string& what) {
    EXPECT_EQ(found.items, wanted.items);
    ASSERT_EQ(found.quantizers.size(), wanted.quantizers.size());
    for (std::size_t i = 0; i < wanted.quantizers.size(); ++i)
      EXPECT_EQ(found.quantizers[i].params, wanted.quantizers[i].params)
          << wanted.quantizers[i].value << " (" << wanted.quantizers[i].observer << ") " << what;
  }
};

TEST_P(AnyCut, GivesTheSameScales) {
  const CalibrationRecord wanted = calibrated(GetParam(), varied_images(), 32);
  expect_same(calibrated(GetParam(), varied_images(), 1), wanted, "by batches of 1");
  expect_same(calibrated(GetParam(), varied_images(), 8), wanted, "by batches of 8");
  at::manual_seed(33);
  expect_same(calibrated(GetParam(), varied_images().index({at::randperm(37)}), 32), wanted, "in another order");
}

// Slices run side by side, one thread each: 148 images are four full ones and one that is filled up.
TEST_P(AnyCut, AnyNumberOfThreadsGivesTheSameScales) {
  const at::Tensor images = varied_images().repeat({4, 1, 1, 1});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const CalibrationRecord wanted = calibrated(GetParam(), images, 32);
  at::set_num_threads(3);
  const CalibrationRecord found = calibrated(GetParam(), images, 32);
  at::set_num_threads(threads);
  EXPECT_EQ(wanted.items, 148);
  expect_same(found, wanted, "by three threads");
}

// 37 images in batches of 8: the last one is padded with copies of its last image. The network's own values round
// differently at another batch size: sums of 216 products at most, so that 216 * 2^-24 bounds what ranges differ by.
TEST_P(AnyCut, AFixedBatchMakesNoOther) {
  const CalibrationRecord wanted = calibrated(GetParam(), varied_images(), 32);
  for (const std::int64_t batch : {1, 8}) {
    const CalibrationRecord found = calibrated(GetParam(), varied_images(), batch, true);
    EXPECT_EQ(found.items, 37);
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
