// Models that compute in float16 and bfloat16, on every platform: planned as their float32 twin, calibrated, corrected,
// deployed to files that the checker takes, and verified in ONNX Runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "cli/demo.h"
#include "deploy/onnx_checker.h"
#include "platforms/gated_graph.h"
#include "quench/calibrate.h"
#include "quench/deploy.h"
#include "quench/evaluate.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "quench/ptq.h"
#include "quench/verify.h"
#include "support/narrowed.h"

namespace quench {
namespace {

Graph demo_graph(DType dtype) {
  Graph graph = narrowed(import_model(demo_model()), dtype);
  run_passes(graph, cleanup_passes());
  return graph;
}

std::unique_ptr<Dataset> images(int first, int count) { return open_dataset(demo_data(first, count)); }

// Names at the border end in ".float32".
std::string without_borders(std::string text) {
  const std::string mark = ".float32";
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.erase(at, mark.size());
  return text;
}

struct Job {
  std::string platform;
  DType dtype;
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.platform << " " << name_of(job.dtype); }

QuantizedModel calibrated(const Job& job) {
  QuantizedModel prepared = prepare(demo_graph(job.dtype), settings_for(job.platform));
  calibrate(prepared, *images(0, 32));
  return prepared;
}

class NarrowModel : public testing::TestWithParam<Job> {};

TEST_P(NarrowModel, IsPlannedAsItsFloat32Twin) {
  const QuantConfig config = settings_for(GetParam().platform);
  const QuantPlan plan = prepare(demo_graph(GetParam().dtype), config).plan;
  EXPECT_EQ(without_borders(text_of(plan)), text_of(prepare(demo_graph(DType::kFloat), config).plan));
  EXPECT_GT(plan.entries.size(), 5U);
}

std::int64_t right_when_corrected(const Job& job) {
  QuantizedModel model = calibrated(job);
  BiasCorrectionOptions options;
  options.kind = BiasCorrection::kFast;
  EXPECT_FALSE(correct_biases(model, *images(0, 32), options).layers.empty());
  return evaluate(model.graph, *images(200, 100), {}).metric("top1").right.value();
}

// Weights that were rounded to 16 bits move codes by one here and there: about as many images are right as of the twin.
TEST_P(NarrowModel, IsCalibratedAndCorrectedAsItsFloat32Twin) {
  const std::int64_t twin = right_when_corrected({GetParam().platform, DType::kFloat});
  EXPECT_NEAR(static_cast<double>(right_when_corrected(GetParam())), static_cast<double>(twin), 4.0);
  EXPECT_GT(twin, 70);
}

bool has_vendor_node(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& node) { return node->op().starts_with("vendor."); });
}

// Its inputs and outputs have the model's types, or what the target takes.
TEST_P(NarrowModel, IsDeployedInTypesThatTheTargetTakes) {
  if (!why_no_files(GetParam().platform).empty()) return;
  DeployOptions options;
  options.name = "net";
  const Deployment deployment = deploy(calibrated(GetParam()), options);
  const Exporter& exporter = ExporterRegistry::instance().get(find_platform(GetParam().platform).product);
  const bool widened = exporter.io == IoTypes::kFloat32;
  const DType expected = widened ? DType::kFloat : GetParam().dtype;
  for (const DeployFile& file : deployment.files) {
    if (!file.is_model()) continue;
    SCOPED_TRACE(file.name);
    ImportOptions reading;
    reading.allow_unsupported = true;  // other vendors' operators
    const Graph again = import_onnx_bytes(export_onnx_bytes(file.model, {.opset = file.opset}), "", reading);
    EXPECT_EQ(again.inputs()[0]->dtype(), expected);
    EXPECT_EQ(again.outputs()[0]->dtype(), expected);
    for (const Value* constant : again.constants())
      EXPECT_FALSE(constant->dtype() == DType::kFloat16 || constant->dtype() == DType::kBfloat16) << constant->name();
  }
  const auto says_so = [](const std::string& note) { return note.find("float32 in these files") != std::string::npos; };
  EXPECT_EQ(std::any_of(deployment.notes.begin(), deployment.notes.end(), says_so), widened);
}

std::vector<Job> all_jobs() {
  std::vector<Job> jobs;
  for (const std::string& platform : PlatformRegistry::instance().names())
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) jobs.push_back({platform, dtype});
  return jobs;
}

std::string name_of_job(const testing::TestParamInfo<Job>& one) {
  return one.param.platform + "_" + name_of(one.param.dtype);
}

INSTANTIATE_TEST_SUITE_P(All, NarrowModel, testing::ValuesIn(all_jobs()), name_of_job);

// One process for all: loading the package takes longer than checking. N_quantizers.onnx is not for a checker, which
// does not know its operators.
TEST(NarrowModels, FilesOfEveryTargetPassTheChecker) {
  std::string why;
  const std::string python = test_python(why);
  if (python.empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("files"));
  int count = 0;
  for (const Job& job : all_jobs()) {
    if (!why_no_files(job.platform).empty()) continue;
    QuantizedModel prepared = prepare(demo_graph(job.dtype), settings_for(job.platform));
    calibrate(prepared, *images(0, 2));
    const std::string name = job.platform + "_" + name_of(job.dtype);
    DeployOptions options;
    options.name = name;
    for (const DeployFile& file : deploy(prepared, options).files) {
      if (!file.is_model() || has_vendor_node(file.model)) continue;
      export_onnx(file.model, folder.path("files/" + name + "_" + file.name), {.opset = file.opset});
      ++count;
    }
  }
  EXPECT_GT(count, 30);
  EXPECT_EQ(checker_complaints(python, folder.path("files")), "");
}

class NarrowInOnnxRuntime : public testing::TestWithParam<Job> {};

TEST_P(NarrowInOnnxRuntime, DoesWhatWasSimulated) {
  std::string why;
  if (test_python(why).empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  DeployOptions options;
  options.name = "net";
  write_deployment(deploy(calibrated(GetParam()), options), folder.path("files"));
  const VerifyResult result = verify(deployed_files(folder.path("files"), "onnxruntime").at(0), *images(500, 50), {});
  EXPECT_TRUE(result.passed()) << result.failures()[0];
  EXPECT_EQ(result.items, 50);
  EXPECT_GE(result.equal, 49);
  EXPECT_GT(result.correct_deployed, 35);
}

INSTANTIATE_TEST_SUITE_P(Some, NarrowInOnnxRuntime,
                         testing::Values(Job{"onnxruntime", DType::kFloat16}, Job{"onnxruntime", DType::kBfloat16},
                                         Job{"tensorrt_qdq", DType::kFloat16}, Job{"openvino", DType::kFloat16}),
                         name_of_job);

}  // namespace
}  // namespace quench
