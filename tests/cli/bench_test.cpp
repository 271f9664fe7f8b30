// quench bench.
#include "cli/demo.h"
#include "cli/program.h"

namespace quench {
namespace {

TEST(BenchCommand, PrintsSpeedLatencyMemoryAndTheSlowestLayers) {
  const Outcome outcome = quench_run({"bench", demo_model(), "--batch", "4", "--seconds", "0.05", "--steps", "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"items/s, batch 4", "ms median; 90 % ", "weights ", "Conv"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST(BenchCommand, PrintsOneJsonObject) {
  const nlohmann::json json = quench_run({"bench", demo_model(), "--seconds", "0.05", "--json"}).json();
  EXPECT_EQ(json.at("batch"), 1);
  EXPECT_GE(json.at("runs").get<int>(), 1);
  EXPECT_GT(json.at("items_per_second").get<double>(), 0.0);
  const nlohmann::json seconds = json.at("seconds");
  EXPECT_LE(seconds.at("least").get<double>(), seconds.at("median").get<double>());
  EXPECT_LE(seconds.at("median").get<double>(), seconds.at("p99").get<double>());
  EXPECT_GT(json.at("steps").size(), 3U);
}

TEST(BenchCommand, RunsAQuantizedModelInThreeWays) {
  const TemporaryFolder folder;
  const Outcome made = quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 16),
                                   "--profile", "0", "--no-deploy", "-o", folder.path("out")});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string model = folder.path("out/fashion_cnn.quench.onnx");
  for (const char* engine : {"float", "simulated", "integer"}) {
    const nlohmann::json json = quench_run({"bench", model, "--engine", engine, "--seconds", "0.05", "--json"}).json();
    EXPECT_EQ(json.at("engine").get<bool>(), std::string(engine) != "simulated") << engine;
  }
}

TEST(BenchCommand, SaysWhatIsWrong) {
  const Outcome engine = quench_run({"bench", demo_model(), "--engine", "integer"});
  EXPECT_EQ(engine.code, 1);
  EXPECT_NE(engine.err.find("--engine integer needs a quantized model"), std::string::npos) << engine.err;
  const Outcome dim = quench_run({"bench", demo_model(), "--dim", "Q=3"});
  EXPECT_EQ(dim.code, 1);
  EXPECT_NE(dim.err.find("'Q'"), std::string::npos) << dim.err;
}

}  // namespace
}  // namespace quench
