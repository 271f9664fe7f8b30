#include "calibrate/statistics.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "calibrate/small_graph.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor images() { return whole({10, 3, 8, 8}, 5, 6); }

struct Folder {
  explicit Folder(const std::string& name) : path(std::filesystem::temp_directory_path() / ("quench_" + name)) {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

CalibrationOptions kept_in(const Folder& folder) {
  CalibrationOptions options;
  options.batch = 4;
  options.statistics = folder.path.string();
  return options;
}

// Whether the second observer finds all it needs after a run with the first, and gives the scales of its own run.
bool reuses(const std::string& first, const std::string& second) {
  const Folder folder("statistics_test");
  QuantizedModel before = quantized_model(first), after = quantized_model(second), own = quantized_model(second);
  EXPECT_FALSE(calibrate(before, TensorData(images()), kept_in(folder)).reused);
  const CalibrationRecord record = calibrate(after, TensorData(images()), kept_in(folder));
  CalibrationOptions plain;
  plain.batch = 4;
  const CalibrationRecord anew = calibrate(own, TensorData(images()), plain);
  EXPECT_EQ(to_text(after.graph), to_text(own.graph)) << first << " then " << second;
  EXPECT_EQ(record.items, 10);
  EXPECT_EQ(record.batches, anew.batches);
  EXPECT_EQ(record.notes, anew.notes);
  return record.reused;
}

TEST(Statistics, TheSameObserverNeedsNoNewPass) {
  for (const char* name : {"min_max", "ema_min_max", "ema_quantile", "mse", "ema_mse", "kl", "histogram", "lsq"})
    EXPECT_TRUE(reuses(name, name)) << name;
}

TEST(Statistics, ObserversOnAHistogramShareIt) {
  EXPECT_TRUE(reuses("histogram", "mse"));
  EXPECT_TRUE(reuses("mse", "percentile"));
  EXPECT_TRUE(reuses("percentile", "histogram"));
}

TEST(Statistics, AnotherStatisticIsObservedAnew) {
  EXPECT_FALSE(reuses("min_max", "mse"));
  EXPECT_FALSE(reuses("histogram", "kl"));  // of magnitudes
  EXPECT_FALSE(reuses("ema_min_max", "min_max"));
}

TEST(Statistics, OtherBitsTakeTheSameStatistic) {
  const Folder folder("statistics_bits");
  QuantPlan plan;
  plan.entries = {plan_entry("relu2", "uint8 affine tensor", "mse")};
  QuantizedModel eight = insert_quantizers(small_graph(), plan);
  plan.entries[0].scheme = QScheme::parse("uint4 affine tensor");
  QuantizedModel four = insert_quantizers(small_graph(), plan);
  calibrate(eight, TensorData(images()), kept_in(folder));
  EXPECT_TRUE(calibrate(four, TensorData(images()), kept_in(folder)).reused);
  EXPECT_GT(params_of(four, "relu2").scale[0], 4 * params_of(eight, "relu2").scale[0]);
}

TEST(Statistics, OtherDataModelOrBatchesAreObservedAnew) {
  const Folder folder("statistics_other");
  QuantizedModel graph = quantized_model();
  const auto reused = [&](const at::Tensor& items, CalibrationOptions options) {
    QuantizedModel copy = graph;
    return calibrate(copy, TensorData(items), options).reused;
  };
  EXPECT_FALSE(reused(images(), kept_in(folder)));
  EXPECT_TRUE(reused(images(), kept_in(folder)));
  EXPECT_FALSE(reused(images() + 1, kept_in(folder)));
  EXPECT_FALSE(reused(images().narrow(0, 0, 9), kept_in(folder)));
  CalibrationOptions options = kept_in(folder);
  options.batch = 5;
  EXPECT_FALSE(reused(images(), options));
  options = kept_in(folder);
  options.batches = 1;
  EXPECT_FALSE(reused(images(), options));
  graph.graph.set_tensor(graph.graph.value("w1"), graph.graph.value("w1").tensor() * 2);
  EXPECT_FALSE(reused(images(), kept_in(folder)));
}

// Any item may be the one that differs.
TEST(Statistics, OneOtherItemOfManyIsOtherData) {
  const Folder folder("statistics_items_test");
  const at::Tensor many = whole({200, 3, 8, 8}, 5, 6);
  QuantizedModel before = quantized_model("mse"), after = quantized_model("mse"), again = quantized_model("mse");
  EXPECT_FALSE(calibrate(before, TensorData(many), kept_in(folder)).reused);
  for (const std::int64_t item : {1, 98, 199}) {
    const at::Tensor other = many.clone();
    other[item].mul_(3);
    EXPECT_FALSE(calibrate(after, TensorData(other), kept_in(folder)).reused) << item;
  }
  EXPECT_TRUE(calibrate(again, TensorData(many), kept_in(folder)).reused);
}

TEST(Statistics, SeveralStatisticsLieInOneFile) {
  const Folder folder("statistics_file");
  for (const bool expected : {false, true})
    for (const char* name : {"min_max", "kl"}) {
      QuantizedModel graph = quantized_model(name);
      EXPECT_EQ(calibrate(graph, TensorData(images()), kept_in(folder)).reused, expected) << name;
    }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
}

TEST(Statistics, OfQuantizedActivationsAreNotKept) {
  const Folder folder("statistics_quantized");
  CalibrationOptions options = kept_in(folder);
  options.on_quantized = true;
  QuantizedModel graph = quantized_model();
  EXPECT_ERROR(calibrate(graph, TensorData(images()), options), "float activations only", "'on_quantized'");
}

}  // namespace
}  // namespace quench
