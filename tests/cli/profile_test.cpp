#include "cli/demo.h"
#include "cli/program.h"

namespace quench {
namespace {

struct Quantized {
  Quantized() {
    outcome = quench_run({"quantize", demo_model(), "--platform", "tensorrt", "--calib", demo_data(0, 16), "--profile",
                          "0", "-o", folder.path("out")});
  }
  std::string model() const { return folder.path("out/fashion_cnn.quench.onnx"); }
  TemporaryFolder folder;
  Outcome outcome;
};

TEST(Profile, RanksLayersByDamage) {
  const Quantized quantized;
  ASSERT_EQ(quantized.outcome.code, 0) << quantized.outcome.err;
  const Outcome outcome = quench_run({"profile", quantized.model(), "--data", demo_data(0, 8), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json.at("items"), 8);
  ASSERT_GE(json.at("layers").size(), 3U);
  double last = -1e9;
  for (const auto& layer : json.at("layers")) {
    const double alone = layer.at("standalone").at("sqnr_db").at("value");
    EXPECT_GE(alone, last);
    EXPECT_GT(layer.at("standalone").at("sqnr_db").at("standard_error").get<double>(), 0.0);
    EXPECT_GT(layer.at("cumulative").at("cosine").at("value").get<double>(), 0.9);  // 8 bits: over 20 dB by far
    last = alone;
  }
}

TEST(Profile, PrintsATable) {
  const Quantized quantized;
  const Outcome outcome = quench_run({"profile", quantized.model(), "--data", demo_data(0, 8), "--limit", "2"});
  EXPECT_EQ(outcome.code, 1);                                                // limit= and --limit
  const std::string data = "idx:" + demo_file("images.gz") + "?norm=mnist";  // labels are not needed
  const Outcome table = quench_run({"profile", quantized.model(), "--data", data, "--limit", "2"});
  ASSERT_EQ(table.code, 0) << table.err;
  for (const char* part : {"SQNR alone", "SQNR so far", "Conv", "+-", "2 images"})
    EXPECT_NE(table.out.find(part), std::string::npos) << part << " in\n" << table.out;
}

TEST(Profile, RefusesAFloatModel) {
  expect_refused(quench_run({"profile", demo_model(), "--data", demo_data(0, 2)}), "the model carries no plan");
}

}  // namespace
}  // namespace quench
