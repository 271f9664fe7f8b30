#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/demo.h"
#include "cli/program.h"
#include "quench/calibrate.h"
#include "quench/evaluate.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/plan.h"
#include "quench/prepare.h"

namespace quench {
namespace {

struct Job {
  Outcome run(std::vector<std::string> more, const std::string& out = "out") const {
    std::vector<std::string> arguments = {"quantize", demo_model(), "-o", folder.path(out)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  }
  Outcome calibrated(std::vector<std::string> more = {}, const std::string& out = "out") const {
    std::vector<std::string> arguments = {"--platform", "tensorrt_qdq", "--calib", demo_data(0, 16), "--profile", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, out);
  }
  std::string path(const std::string& file, const std::string& out = "out") const {
    return folder.path(out + "/" + file);
  }
  std::string model(const std::string& out = "out") const { return path("fashion_cnn.quench.onnx", out); }
  nlohmann::json record(const std::string& out = "out") const {
    return nlohmann::json::parse(read_text(path("record.json", out)));
  }
  TemporaryFolder folder;
};

TEST(Quantize, WritesModelPlanRecordAndReport) {
  const Job job;
  const Outcome outcome =
      job.run({"--platform", "tensorrt", "--calib", demo_data(0, 16), "--eval", demo_data(200, 100)});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("quantized   top-1"), std::string::npos) << outcome.out;

  const QuantPlan plan = plan_from_yaml(read_text(job.path("plan.yaml")));
  const Graph graph = import_model(job.model());
  EXPECT_EQ(graph.metadata.at("quench.format"), "1");
  EXPECT_EQ(graph.metadata.at("quench.stage"), "calibrated");
  EXPECT_EQ(graph.metadata.at("quench.plan"), to_yaml(plan));
  const nlohmann::json inside = nlohmann::json::parse(graph.metadata.at("quench.record"));
  EXPECT_EQ(inside.at("files").size(), 5U);  // the model; images and labels, twice
  EXPECT_FALSE(inside.contains("stages"));   // nothing that differs from run to run

  const nlohmann::json record = job.record();
  EXPECT_EQ(record.at("calibration").at("items"), 16);
  EXPECT_EQ(record.at("calibration").at("quantizers").size(), plan.entries.size());
  EXPECT_EQ(record.at("quantized").at("items"), 100);
  EXPECT_EQ(record.at("paired").at("items"), 100);
  EXPECT_FALSE(record.at("profile").at("layers").empty());
  for (const auto& stage : record.at("stages")) EXPECT_GT(stage.at("peak_bytes").get<std::int64_t>(), 0) << stage;

  const std::string report = read_text(job.path("report.txt"));
  for (const char* part : {"float       top-1", "drop  ", "McNemar", "Damage by layer", "times smaller",
                           "What stays float, and why", "Time and memory", "calibrate"})
    EXPECT_NE(report.find(part), std::string::npos) << part << " in\n" << report;
  EXPECT_EQ(job.folder.files(), 1U);
}

TEST(Quantize, TheSameRunGivesTheSameFile) {
  const Job job;
  ASSERT_EQ(job.calibrated({}, "a").code, 0);
  ASSERT_EQ(job.calibrated({}, "b").code, 0);
  EXPECT_EQ(read_text(job.model("a")), read_text(job.model("b")));
}

TEST(Quantize, EvalOfTheFileGivesWhatTheRunSaid) {
  const Job job;
  ASSERT_EQ(job.calibrated({"--eval", demo_data(200, 100)}).code, 0);
  const nlohmann::json again = quench_run({"test", job.model(), "--data", demo_data(200, 100), "--json"}).json();
  EXPECT_EQ(again.at("correct"), job.record().at("quantized").at("correct"));
  EXPECT_EQ(again.at("items"), 100);
}

TEST(Quantize, ASavedModelReloadedGivesTheSameBits) {
  const TemporaryFolder folder;
  QuantizedModel model = prepare_by_platform(import_model(demo_model()), "tensorrt");
  calibrate(model, *open_dataset(demo_data(0, 16), model.graph));
  export_onnx(with_plan_text(model), folder.path("m.quench.onnx"));
  const Graph reloaded = import_model(folder.path("m.quench.onnx"));
  at::manual_seed(1);
  const at::Tensor x = at::randn({4, 1, 28, 28});
  const auto run = [&](const Graph& one) { return Executor(one).run({RtValue(x)})[0].tensor(); };
  EXPECT_TRUE(at::equal(run(model.graph), run(reloaded)));
  // Without the weights' quantizers it computes the very same: they are functions of constants.
  Graph folded = reloaded;
  run_passes(folded, {"fold_weights", "eliminate_dead"});
  EXPECT_LT(folded.nodes().size(), reloaded.nodes().size());
  EXPECT_TRUE(at::equal(run(model.graph), run(folded)));
}

std::map<std::string, nlohmann::json> quantizers_of(const nlohmann::json& record) {
  std::map<std::string, nlohmann::json> list;
  for (const auto& one : record.at("calibration").at("quantizers")) list[one.at("value")] = one;
  return list;
}

std::set<std::string> fake_quants_of(const std::string& model) {
  const Graph graph = import_model(model);
  std::set<std::string> names;
  for (const auto& node : graph.nodes())
    if (node->op() == "quench.FakeQuant") names.insert(node->name());
  return names;
}

// One weight to 4 bits, one layer's input and weight to float: nothing else changes.
TEST(Quantize, AnEditedPlanChangesExactlyThoseEdges) {
  const Job job;
  ASSERT_EQ(job.calibrated().code, 0);
  QuantPlan plan = plan_from_yaml(read_text(job.path("plan.yaml")));
  std::vector<std::string> weights;
  for (const PlanEntry& entry : plan.entries)
    if (entry.role == Role::kWeight) weights.push_back(entry.value);
  ASSERT_GE(weights.size(), 3U);
  const std::string coarse = weights[1], plain = weights.back();
  for (PlanEntry& entry : plan.entries)
    if (entry.value == coarse) entry.scheme = QScheme::parse("int4 symmetric channel:0 narrow");
  std::erase_if(plan.entries, [&](const PlanEntry& entry) { return entry.value == plain; });
  std::ofstream(job.folder.path("edited.yaml")) << to_yaml(plan);

  expect_refused(job.calibrated({"--plan", job.folder.path("edited.yaml"), "--bits", "w4a8"}, "refused"),
                 "--bits has no effect with --plan");
  const Outcome outcome = job.calibrated({"--plan", job.folder.path("edited.yaml")}, "edited");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Outcome diff = quench_run({"plan", "--diff", job.model(), job.model("edited")});
  EXPECT_EQ(std::count(diff.out.begin(), diff.out.end(), '\n'), 2) << diff.out;
  EXPECT_NE(diff.out.find("~ " + coarse + ": "), std::string::npos) << diff.out;
  EXPECT_NE(diff.out.find("- " + plain + ": "), std::string::npos) << diff.out;

  std::set<std::string> expected = fake_quants_of(job.model());
  expected.erase(plain + ".fq");
  EXPECT_EQ(fake_quants_of(job.model("edited")), expected);
  const auto before = quantizers_of(job.record()), after = quantizers_of(job.record("edited"));
  EXPECT_EQ(after.size() + 1, before.size());
  EXPECT_FALSE(after.contains(plain));
  for (const auto& [value, one] : after) {
    if (value == coarse)
      EXPECT_NE(one.at("scale"), before.at(value).at("scale"));
    else
      EXPECT_EQ(one, before.at(value)) << value;
  }
}

TEST(Quantize, EqualizesAndCorrectsBiasesWhereAsked) {
  const Job job;
  const Outcome outcome = job.calibrated({"--equalize", "--bias-correction", "fast"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("equalized"), std::string::npos) << outcome.out;
  EXPECT_FALSE(job.record().at("bias_correction").at("layers").empty());
  EXPECT_TRUE(job.record().at("equalize").contains("pairs"));
  expect_refused(job.calibrated({"--bias-correction", "quick"}, "other"), "quick");
}

TEST(Quantize, OneImageIsEnough) {
  const Job job;
  const Outcome outcome =
      quench_run({"ptq", demo_model(), "--platform", "tensorrt", "--calib", demo_data(0, 1), "-o", job.path("")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(job.record().at("calibration").at("items"), 1);
  EXPECT_EQ(job.record().at("profile").at("items"), 1);
}

TEST(Quantize, TakesAConfigAndLaysOptionsOverIt) {
  const Job job;
  std::ofstream(job.folder.path("job.yaml")) << "version: 1\nplatform: onnxruntime\nmodel: " << demo_model()
                                             << "\ndata: {calib: \"" << demo_data(0, 4) << "\"}\n";
  const Outcome outcome = quench_run({"quantize", "--config", job.folder.path("job.yaml"), "--platform", "tensorrt_qdq",
                                      "--set", "defaults.weight.bits=4", "--profile", "0", "-o", job.path("")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const QuantPlan plan = plan_from_yaml(read_text(job.path("plan.yaml")));
  EXPECT_EQ(plan.platform, "tensorrt_qdq");
  for (const PlanEntry& entry : plan.entries) EXPECT_EQ(entry.scheme.bits(), entry.role == Role::kWeight ? 4 : 8);
}

TEST(Quantize, ADryRunPrintsTheNeedAndWritesNothing) {
  const Job job;
  const Outcome outcome = job.run({"--platform", "tensorrt", "--dry-run"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"x weight: int8", "tensors stay float", "quantized", "alive at once at batch 32"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
  EXPECT_EQ(job.folder.files(), 0U);
}

TEST(Quantize, StopsAndDumpsWhereItIsTold) {
  const Job job;
  const Outcome outcome =
      job.run({"--platform", "tensorrt", "--stop-after", "insert", "--dump-after", "fuse", "--time"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(import_model(job.model()).metadata.at("quench.stage"), "prepared");
  EXPECT_NE(read_text(job.path("after_fuse.txt")).find("= Conv"), std::string::npos);
  EXPECT_NE(outcome.err.find("insert: "), std::string::npos) << outcome.err;
  // What was never calibrated does not pass for quantized.
  expect_refused(quench_run({"eval", job.model(), "--data", demo_data(0, 4)}), "the model is prepared, not calibrated");
  expect_refused(quench_run({"profile", job.model(), "--data", demo_data(0, 4)}),
                 "the model is prepared, not calibrated");
  expect_refused(job.run({"--stop-after", "calibrat"}), "did you mean 'calibrate'?");
}

TEST(Quantize, RefusesBeforeTheWorkAndLeavesNothing) {
  const Job job;
  expect_refused(job.run({"--calib", demo_data(0, 4)}), "no platform");
  expect_refused(job.run({"--platform", "tensort", "--calib", demo_data(0, 4)}), "did you mean 'tensorrt'?");
  expect_refused(job.run({"--platform", "tensorrt"}), "no data to calibrate on");
  expect_refused(job.run({"--platform", "tensorrt", "--calib", "idx:none.gz?norm=mnist"}), "none.gz");
  expect_refused(job.calibrated({"--eval", "idx:none.gz?norm=mnist"}), "none.gz");
  expect_refused(quench_run({"quantize", demo_model(), "--platform", "tensorrt", "--calib", demo_data(0, 4)}),
                 "no output");
  EXPECT_EQ(job.folder.files(), 0U);
  std::ofstream(job.folder.path("file")) << "x";
  expect_refused(job.calibrated({}, "file/out"), "is a file");
  EXPECT_EQ(job.folder.files(), 1U);
}

TEST(Quantize, RefusesThePlanOfAnotherModelOrPlatform) {
  const Job job;
  const std::string file = job.folder.path("plan.yaml");
  QuantPlan plan = plan_from_yaml(quench_run({"plan", demo_model(), "--platform", "tensorrt_qdq"}).out);
  plan.entries[0].value = "another";
  std::ofstream(file) << to_yaml(plan);
  expect_refused(job.calibrated({"--plan", file}), "does not fit the model");
  EXPECT_EQ(job.folder.files(), 1U);
  expect_refused(job.run({"--platform", "onnxruntime", "--calib", demo_data(0, 4), "--plan", file}),
                 "is for platform 'tensorrt_qdq'");
}

// Once a bug: another platform's files stayed, and verify took them.
TEST(Quantize, AFolderOfOursIsMadeAnew) {
  const Job job;
  ASSERT_EQ(job.calibrated({"--dump-after", "fuse"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(job.path("deploy/fashion_cnn_qdq.onnx")));
  EXPECT_TRUE(std::filesystem::exists(job.path("after_fuse.txt")));
  std::ofstream(job.path("notes.txt")) << "mine";
  const std::vector<std::string> other = {"--platform", "tensorrt", "--calib", demo_data(0, 16), "--profile", "0"};
  expect_refused(job.run(other),
                 "fashion_cnn.quench.onnx' already exists; --force replaces it, and all files of that job");
  EXPECT_TRUE(std::filesystem::exists(job.path("deploy/fashion_cnn_qdq.onnx")));
  std::vector<std::string> forced = other;
  forced.push_back("--force");
  const Outcome second = job.run(forced);
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_FALSE(std::filesystem::exists(job.path("deploy/fashion_cnn_qdq.onnx")));
  EXPECT_FALSE(std::filesystem::exists(job.path("after_fuse.txt")));
  EXPECT_TRUE(std::filesystem::exists(job.path("deploy/fashion_cnn_clip_ranges.json")));
  EXPECT_EQ(read_text(job.path("notes.txt")), "mine");
  ASSERT_EQ(job.calibrated({"--no-deploy", "--force"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(job.path("deploy")));
}

TEST(Quantize, AFileOfSomeoneElseIsKept) {
  const Job job;
  std::filesystem::create_directories(job.path(""));
  std::ofstream(job.path("report.txt")) << "mine";
  expect_refused(job.calibrated(), "report.txt' already exists");
  EXPECT_EQ(read_text(job.path("report.txt")), "mine");
  ASSERT_EQ(job.calibrated({"--force"}).code, 0);
  EXPECT_NE(read_text(job.path("report.txt")), "mine");
}

TEST(Quantize, RefusesAModelThatIsQuantizedAlready) {
  const Job job;
  ASSERT_EQ(job.calibrated().code, 0);
  expect_refused(quench_run({"quantize", job.model(), "--platform", "tensorrt", "--calib", demo_data(0, 4), "-o",
                             job.folder.path("again")}),
                 "is already quantized");
  // Files of others' tools: operators on codes without a QuantizeLinear.
  const std::string codes = std::string(std::getenv("QUENCH_TEST_DATA")) + "/microsoft/ops.onnx";
  expect_refused(quench_run({"quantize", codes, "--platform", "onnxruntime", "--calib", "random:4", "-o",
                             job.folder.path("codes")}),
                 "(MatMulInteger)): quantize the float model it was made from");
}

}  // namespace
}  // namespace quench
