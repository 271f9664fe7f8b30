// A deployed file that differs from the calibrated model it was made from.
#include "verify/source_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/exit_code.h"
#include "quench/export.h"
#include "support/expect_error.h"
#include "verify/wrong_runner.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

class SourceModel : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
  }
  // Changes a constant of the deployed file.
  static void change(const std::string& file, const std::string& constant, double factor) {
    Graph graph = import_model(file);
    Value& value = graph.value(constant);
    graph.set_tensor(value, value.tensor() * factor);
    export_onnx(graph, file, {.opset = 13});
  }
  static std::string first_scale(const std::string& file) {
    const Graph graph = import_model(file);
    for (const auto& node : graph.nodes())
      if (node->op() == "QuantizeLinear" && !node->input(0)->is_input()) return node->input(1)->name();
    return "";
  }
};

TEST_F(SourceModel, IsFoundBesideTheFileAndAgrees) {
  const DeployedDemo demo("tensorrt_qdq");
  const VerifyResult result = demo.verify_on(20, {});
  EXPECT_TRUE(result.passed()) << result.failures()[0];
  EXPECT_EQ(fs::path(result.model).filename(), "demo.quench.onnx");
  EXPECT_GT(result.quantizers, 5);
  EXPECT_TRUE(result.quantizer_differences.empty());
  VerifyOptions none;
  none.model = "none";
  EXPECT_EQ(demo.verify_on(4, none).model, "");
}

TEST_F(SourceModel, AScaleTimesTwelveIsNamed) {
  const DeployedDemo demo("tensorrt_qdq");
  const std::string scale = first_scale(demo.file());
  change(demo.file(), scale, 12);
  VerifyOptions options;
  options.model = "none";
  EXPECT_TRUE(demo.verify_on(20, options).passed()) << "file and runtime agree with each other";
  const VerifyResult result = demo.verify_on(20, {});
  const std::vector<std::string> names = failed(result);
  EXPECT_NE(std::find(names.begin(), names.end(), "quantizers"), names.end());
  ASSERT_EQ(result.quantizer_differences.size(), 1U);
  const std::string value = scale.substr(0, scale.rfind("_scale"));
  EXPECT_EQ(result.quantizer_differences[0].find("'" + value + "' has the scale "), 0U)
      << result.quantizer_differences[0];
  const Outcome outcome = quench_run({"verify", demo.folder(), "--data", demo_data(500, 8)});
  EXPECT_EQ(outcome.code, kCheckFailed) << outcome.err;
  EXPECT_NE(outcome.out.find("'" + value + "' has the scale "), std::string::npos) << outcome.out;
}

TEST_F(SourceModel, AModelThatIsNoneOfItsIsRefused) {
  const DeployedDemo demo;
  VerifyOptions options;
  options.model = demo.beside("absent.quench.onnx");
  EXPECT_ERROR(demo.verify_on(4, options), "absent.quench.onnx", "cannot be opened");
}

TEST_F(SourceModel, OpenVinosFakeQuantizeIsVerifiedToo) {
  std::string why;
  if (runtime_python("openvino", why).empty()) GTEST_SKIP() << why;
  const DeployedDemo demo("openvino");
  const std::vector<std::string> files = deployed_files(demo.folder(), "openvino");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[0].ends_with("_qdq.onnx"));
  EXPECT_TRUE(files[1].ends_with("_deploy_model.onnx"));
  const std::vector<std::string> command = {"verify", demo.folder(),      "--runtime", "openvino",
                                            "--data", demo_data(500, 40), "--json"};
  const Outcome right = quench_run(command);
  EXPECT_EQ(right.code, kDone) << right.out << right.err;
  EXPECT_EQ(right.json()["files"].size(), 2U);
  for (const auto& file : right.json()["files"]) EXPECT_EQ(file["model"]["differences"].size(), 0U);
}

}  // namespace
}  // namespace quench
