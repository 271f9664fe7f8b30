// Files in float16 and bfloat16 through the commands; and deployments that cannot be made.
#include <fstream>

#include "cli/demo.h"
#include "cli/program.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/npz.h"
#include "quench/plan.h"
#include "support/narrowed.h"

namespace quench {
namespace {

std::string write_demo(const TemporaryFolder& folder, DType dtype) {
  const std::string path = folder.path("demo.onnx");
  export_onnx(narrowed(import_model(demo_model()), dtype), path, {.opset = 22});
  return path;
}

TEST(NarrowModel, IsRunAndEvaluatedOnFloat32Data) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    SCOPED_TRACE(name_of(dtype));
    const TemporaryFolder folder;
    const std::string model = write_demo(folder, dtype);
    const nlohmann::json result = quench_run({"eval", model, "--data", demo_data(200, 40), "--json"}).json();
    EXPECT_GT(result.at("correct").get<int>(), 30);
    write_npz(folder.path("x.npz"), {{"x", RtValue(at::ones({1, 1, 28, 28}))}});
    const Outcome outcome = quench_run({"run", model, "--inputs", folder.path("x.npz"), "-o", folder.path("y.npz")});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    // NumPy has no bfloat16: its numbers come as float32.
    const RtValue y = read_npz(folder.path("y.npz")).begin()->second;
    EXPECT_EQ(y.dtype(), dtype == DType::kFloat16 ? DType::kFloat16 : DType::kFloat);
  }
}

TEST(NarrowModel, IsQuantizedWithEveryCorrection) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run({"quantize", write_demo(folder, DType::kFloat16), "--platform", "snpe", "--calib",
                                      demo_data(0, 16), "--eval", demo_data(200, 40), "--equalize", "--bias-correction",
                                      "sequential", "--profile", "4", "-o", folder.path("out")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("computes in float16: widened to float32"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("float32 in these files, since the target takes no 16-bit floats"), std::string::npos)
      << outcome.out;
  const nlohmann::json record = nlohmann::json::parse(read_text(folder.path("out/record.json")));
  EXPECT_GT(record.at("quantized").at("correct").get<int>(), 30);
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/deploy/demo_clip_ranges.json")));
}

// What was wanted and could not be written is an error; the calibrated model is kept (it once was exit code 0).
TEST(Quantize, ADeploymentThatFailsIsAnError) {
  const TemporaryFolder folder;
  const std::vector<std::string> job = {
      "quantize",   demo_model(),
      "--platform", "academic",
      "--calib",    demo_data(0, 8),
      "--profile",  "0",
      "--set",      "defaults.weight={bits: 8, observer: min_max, fake_quant: fixed}",
      "--set",      "defaults.activation={bits: 8, observer: min_max, fake_quant: fixed}"};
  const auto run = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = job;
    arguments.insert(arguments.end(), {"-o", folder.path(out)});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  };
  ASSERT_EQ(run("planned", {"--stop-after", "plan"}).code, 0);
  QuantPlan plan = plan_from_yaml(read_text(folder.path("planned/plan.yaml")));
  for (PlanEntry& entry : plan.entries)
    if (entry.role == Role::kWeight) entry.scheme = QScheme::parse("e4m3fn tensor");  // no vendor's node holds it
  std::ofstream(folder.path("edited.yaml")) << to_yaml(plan);
  const Outcome failed = run("out", {"--plan", folder.path("edited.yaml")});
  expect_refused(failed, "not deployed: ");
  EXPECT_NE(failed.err.find("has no node that vendors' tools read"), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("the calibrated model was written: " + folder.path("out/fashion_cnn.quench.onnx")),
            std::string::npos)
      << failed.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/fashion_cnn.quench.onnx")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/deploy")));
  EXPECT_EQ(run("without", {"--plan", folder.path("edited.yaml"), "--no-deploy"}).code, 0);
}

// PyTorch's engines take a module of integers: the converted model.
TEST(Quantize, TorchsPlatformsDeployTheConvertedModel) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run({"quantize", demo_model(), "--platform", "fbgemm", "--calib", demo_data(0, 8),
                                      "--profile", "0", "-o", folder.path("out")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/deploy/fashion_cnn_int8.quench.onnx"))) << outcome.out;
}

}  // namespace
}  // namespace quench
