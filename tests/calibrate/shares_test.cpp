// Calibration by several processes finds the scales of one, to the bit.
#include "calibrate/shares.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "calibrate/mixed_network.h"
#include "calibrate/small_graph.h"
#include "quench/prepare.h"
#include "support/expect_error.h"
#include "support/together.h"

namespace quench {
namespace {

QuantizedModel model_with(const std::string& observer) {
  QuantPlan plan;
  plan.entries = {
      plan_entry("x", "int8 symmetric tensor", observer), plan_entry("relu1", "uint8 affine tensor", observer),
      plan_entry("relu2", "uint8 affine tensor", observer), plan_entry("relu3", "uint8 affine tensor", observer)};
  return insert_quantizers(mixed_network(), plan);
}

void expect_same(const CalibrationRecord& found, const CalibrationRecord& wanted, const std::string& what) {
  EXPECT_EQ(found.items, wanted.items) << what;
  EXPECT_EQ(found.batches, wanted.batches) << what;
  EXPECT_EQ(found.skipped.size(), wanted.skipped.size()) << what;
  ASSERT_EQ(found.quantizers.size(), wanted.quantizers.size()) << what;
  for (std::size_t i = 0; i < wanted.quantizers.size(); ++i)
    EXPECT_EQ(found.quantizers[i].params, wanted.quantizers[i].params) << what << " " << wanted.quantizers[i].value;
}

// `images` items, so that some processes have more batches than others, or none.
void compare(const Processes& processes, const std::string& observer, CalibrationOptions options,
             std::int64_t images = 37) {
  const TensorData data(varied_images().narrow(0, 0, images), options.skip_broken ? 5 : -1);
  QuantizedModel together = model_with(observer), alone = model_with(observer);
  const CalibrationRecord wanted = calibrate(alone, data, options);
  options.processes = &processes;
  expect_same(calibrate(together, data, options), wanted, observer);
}

void expect_same_scales(const Processes& processes) {
  CalibrationOptions options;
  for (const char* observer : {"min_max", "mse", "percentile", "kl", "histogram"})
    compare(processes, observer, options);
  compare(processes, "min_max", options, 1);
  options.skip_broken = true;
  compare(processes, "mse", options);
  options.batches = 2;
  options.batch = 8;
  compare(processes, "min_max", options);
  options.skip_broken = false;
  compare(processes, "min_max", options);
  // Whose result depends on the order: everyone sees all of it.
  compare(processes, "ema_min_max", options);
  options.on_quantized = true;
  compare(processes, "min_max", options);
}

TEST(Shares, TwoProcessesFindTheScalesOfOne) { together(2, expect_same_scales); }
TEST(Shares, FourProcessesFindTheScalesOfOne) { together(4, expect_same_scales); }

// What the first one finds in the folder is everyone's; and it alone writes there.
TEST(Shares, KeptStatisticsAreTheFirstOnes) {
  together(2, [](const Processes& processes) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "quench_shares_test";
    if (processes.is_first()) std::filesystem::remove_all(folder);
    processes.barrier();
    CalibrationOptions options;
    options.processes = &processes;
    options.statistics = folder / std::to_string(processes.rank());
    QuantizedModel first = model_with("mse"), second = model_with("percentile"), own = model_with("percentile");
    const TensorData data(varied_images());
    EXPECT_FALSE(calibrate(first, data, options).reused);
    EXPECT_EQ(std::filesystem::exists(options.statistics), processes.is_first());
    const CalibrationRecord found = calibrate(second, data, options);
    EXPECT_TRUE(found.reused);
    expect_same(found, calibrate(own, data, {}), "kept");
    processes.barrier();
    if (processes.is_first()) std::filesystem::remove_all(folder);
  });
}

TEST(Shares, DataWithoutAGoodItemIsAnErrorOfAll) {
  together(2, [](const Processes& processes) {
    CalibrationOptions options;
    options.processes = &processes;
    options.skip_broken = true;
    QuantizedModel model = model_with("min_max");
    EXPECT_ERROR(calibrate(model, TensorData(varied_images().narrow(0, 0, 1), 0), options), "no item of the data",
                 "(1 broken)");
  });
}

}  // namespace
}  // namespace quench
