#include <ATen/ATen.h>
#include <signal.h>
#include <sys/wait.h>

#include <map>
#include <thread>

#include "cli/demo.h"
#include "cli/program.h"
#include "core/philox.h"
#include "quench/import.h"
#include "quench/quantizers.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

std::vector<std::string> job(const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"quantize",
                                        demo_model(),
                                        "--platform",
                                        "academic",
                                        "--bits",
                                        "w3a4",
                                        "--method",
                                        "qdrop",
                                        "--set",
                                        "method.max_count=60",
                                        "--set",
                                        "method.batch=16",
                                        "--calib",
                                        demo_data(0, 48),
                                        "--profile",
                                        "0",
                                        "--no-deploy",
                                        "-o",
                                        out,
                                        "--threads",
                                        "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string model_in(const TemporaryFolder& folder, const std::string& out) {
  return read_text(folder.path(out + "/fashion_cnn.quench.onnx"));
}

TEST(Method, LearnsSaysWhatItDidAndKeepsNothing) {
  const TemporaryFolder folder;
  const Outcome outcome = quench_run(job(folder.path("out"), {"--eval", demo_data(200, 100)}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("learned     qdrop: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("): error "), std::string::npos) << outcome.err;
  const nlohmann::json record = nlohmann::json::parse(read_text(folder.path("out/record.json"))).at("reconstruction");
  EXPECT_EQ(record.at("method"), "qdrop");
  EXPECT_EQ(record.at("options").at("max_count"), 60);
  EXPECT_EQ(record.at("units").at(0).at("iterations"), 60);
  EXPECT_NE(read_text(folder.path("out/report.txt")).find("Reconstructed units"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/.reconstruction")));
}

// A plain platform of 8 bits, through to the target's file.
TEST(Method, WorksOnEveryPlatformThatHasIntegers) {
  for (const std::string platform : {"onnxruntime", "tensorrt_qdq", "openvino", "snpe", "vitis"}) {
    const TemporaryFolder folder;
    const Outcome outcome =
        quench_run({"quantize", demo_model(), "--platform", platform, "--method", "adaround", "--set",
                    "method.max_count=5", "--calib", demo_data(0, 16), "--profile", "0", "-o", folder.path("out")});
    EXPECT_EQ(outcome.code, 0) << platform << "\n" << outcome.err;
  }
}

// What each layer's weight is in a file that holds it as codes, by the layer's name.
std::map<std::string, at::Tensor> deployed_weights(const std::string& file) {
  std::map<std::string, at::Tensor> weights;
  const Graph graph = import_model(file);
  for (const auto& node : graph.nodes()) {
    if (node->inputs().size() < 2 || !node->input(1) || !node->input(1)->producer()) continue;
    const Node& dequantize = *node->input(1)->producer();
    if (dequantize.op() != "DequantizeLinear" || !dequantize.input(0)->is_constant()) continue;
    const at::Tensor codes = dequantize.input(0)->tensor();
    EXPECT_FALSE(codes.is_floating_point());
    std::vector<std::int64_t> shape(static_cast<std::size_t>(codes.dim()), 1);
    if (dequantize.input(1)->tensor().numel() > 1) shape[0] = -1;  // a scale per output channel
    at::Tensor steps = codes.to(at::kFloat);
    if (const Value* zero = dequantize.input(2)) steps = steps - zero->tensor().to(at::kFloat).reshape(shape);
    weights[node->name()] = steps * dequantize.input(1)->tensor().reshape(shape);
  }
  return weights;
}

// Of every layer whose weight learned, bit for bit.
void expect_deployed(const std::string& model, const std::string& file) {
  const Graph learned = import_model(model);
  const std::map<std::string, at::Tensor> deployed = deployed_weights(file);
  std::size_t layers = 0;
  for (const Node* quantizer : quantizers_of(learned)) {
    if (fake_quant_spec(*quantizer).role != Role::kWeight) continue;
    ++layers;
    const std::string layer = quantizer->output().uses().at(0).node->name();
    ASSERT_TRUE(deployed.contains(layer)) << layer;
    EXPECT_TRUE(deployed.at(layer).equal(quantizer->input(0)->tensor())) << layer;
  }
  EXPECT_EQ(layers, deployed.size());
}

struct Deployed {
  const char *platform, *bits, *target, *method;
};
class LearnedCodes : public testing::TestWithParam<Deployed> {};

// The deployed file has exactly the codes that were learned, and ONNX Runtime computes with them: of a platform for it,
// and of a research platform's few bits, which lie in four there.
TEST_P(LearnedCodes, AreDeployed) {
  const auto [platform, bits, target, method] = GetParam();
  const TemporaryFolder folder;
  std::vector<std::string> job = {"quantize",   demo_model(),
                                  "--platform", platform,
                                  "--method",   method,
                                  "--set",      "method.max_count=40",
                                  "--set",      "method.lr=0.02",
                                  "--set",      "method.weight_scale_lr=0.001",
                                  "--calib",    demo_data(0, 32),
                                  "--profile",  "0",
                                  "-o",         folder.path("out"),
                                  "--threads",  "1",
                                  "--json"};
  if (std::string(method) == "networkwise") job.insert(job.end(), {"--set", "method.joint_count=40"});
  if (*bits) job.insert(job.end(), {"--bits", bits, "--no-deploy"});
  const Outcome made = quench_run(job);
  ASSERT_EQ(made.code, 0) << made.err;
  const nlohmann::json record = made.json();
  double moved = 0;  // single units may stay as they were
  for (const auto& unit : record.at("reconstruction").at("units")) moved += unit.at("moved").get<double>();
  EXPECT_GT(moved, 0.01);
  const std::string model = folder.path("out/fashion_cnn.quench.onnx"), files = folder.path("out/deploy");
  if (*bits) {
    const Outcome deployed = quench_run({"deploy", model, "--platform", target, "-o", files});
    ASSERT_EQ(deployed.code, 0) << deployed.err;
  }
  expect_deployed(model, files + "/fashion_cnn_qdq.onnx");
  std::string why;
  if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
  const Outcome outcome = quench_run({"verify", files, "--runtime", "onnxruntime", "--data", demo_data(300, 32),
                                      "--layers", "--model", model, "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Platforms, LearnedCodes,
                         testing::Values(Deployed{"onnxruntime", "", "", "brecq"},
                                         Deployed{"onnxruntime", "", "", "networkwise"},
                                         Deployed{"academic", "w4a4", "onnxruntime", "networkwise"},
                                         Deployed{"academic", "w2a4", "openvino", "brecq"}));

TEST(Method, UnitsAreShown) {
  const Outcome outcome = quench_run({"inspect", demo_model(), "--units"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("block1"), std::string::npos) << outcome.out;
  EXPECT_GT(quench_run({"inspect", demo_model(), "--units", "layer", "--json"}).json().size(),
            quench_run({"inspect", demo_model(), "--units", "--json"}).json().size());
  const Outcome named = quench_run({"inspect", demo_model(), "--units", "block1.conv2,block2.conv2", "--json"});
  ASSERT_EQ(named.code, 0) << named.err;
  ASSERT_EQ(named.json().size(), 3U);
  EXPECT_EQ(named.json().at(0).at("layers").back(), "block1.conv2");
  EXPECT_EQ(quench_run({"inspect", demo_model(), "--units", "block1.conv2", "--json"}).json().size(), 2U);
  expect_refused(quench_run({"inspect", demo_model(), "--units", "block1.conv2, block3"}), "unknown layer 'block3'");
  expect_refused(quench_run({"inspect", demo_model(), "--units", "bloc"}), "did you mean 'block'");
}

TEST(Method, BadInputIsRefused) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> arguments = {"quantize", demo_model(),    "--platform", "academic",
                                          "--calib",  demo_data(0, 4), "-o",         folder.path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(quench_run(arguments), part);
  };
  refused({"--bits", "w4a4", "--method", "qdrob"}, "did you mean 'qdrop'");
  refused({"--bits", "w4a4", "--method", "qdrop", "--max-memory", "2 gigs"}, "must look like 2G");
  refused({"--bits", "4/4", "--method", "qdrop"}, "must look like w4a8");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.prop=1"}, "did you mean 'prob'");
  refused({"--method", "qdrop"}, "bits");
  refused({"--bits", "w4a4", "--method", "qdrop", "--set", "method.name=brecq"}, "cannot be given together");
  refused({"--max-memory", "1G"}, "give --method NAME");
  expect_refused(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 4), "-o",
                             folder.path("out"), "--resume"}),
                 "--method NAME");
}

// Before the first unit is done there is nothing to keep. Nobody else may work there meanwhile.
TEST(Method, AnInterruptThatComesEarlyLeavesNothing) {
  const TemporaryFolder folder, outputs;
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--max-memory", "1M"}}) {
    std::vector<std::string> endless = job(folder.path("out"), more);
    std::replace(endless.begin(), endless.end(), std::string("method.max_count=60"),
                 std::string("method.max_count=1000000"));
    const pid_t child = start_program(endless, outputs);
    while (!std::filesystem::exists(folder.path("out/.reconstruction")))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (more.empty()) expect_refused(quench_run(job(folder.path("out"))), "another process is working in");
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
  }
}

std::ptrdiff_t units_in(const std::string& folder) {
  std::ptrdiff_t count = 0;
  if (!std::filesystem::exists(folder)) return 0;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    count += file.path().extension() == ".safetensors";
  return count;
}

// Interrupted and killed, it ends in the bits of an unbroken run.
class Resumed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = std::make_unique<TemporaryFolder>();
    const Outcome whole = quench_run(together(made_->path("whole")));
    ASSERT_EQ(whole.code, 0) << whole.err;
    seconds_ = whole.seconds;
  }
  static void TearDownTestSuite() { made_.reset(); }

  // With a stage in which all units learn together, as networkwise has it.
  static std::vector<std::string> together(const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments =
        job(out, {"--set", "method.joint_count=20", "--set", "method.bias_lr=0.001", "--set",
                  "method.joint_augment=flip,crop,cut", "--set", "method.joint_round_mode=straight_through"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // What is left of a run goes on; gives its record.
  nlohmann::json finish(const std::vector<std::string>& more = {}) const {
    const std::ptrdiff_t kept = units_in(folder_.path("broken/.reconstruction"));
    std::vector<std::string> arguments = together(folder_.path("broken"), {"--resume"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome last = quench_run(arguments);
    EXPECT_EQ(last.code, 0) << last.err;
    if (last.code != 0) return {};
    nlohmann::json record = nlohmann::json::parse(read_text(folder_.path("broken/record.json"))).at("reconstruction");
    std::ptrdiff_t resumed = 0;
    for (const auto& unit : record.at("units")) resumed += unit.at("resumed") ? 1 : 0;
    EXPECT_EQ(resumed, kept) << last.err;
    EXPECT_EQ(record.at("units").back().at("name"), "network");
    const Graph wanted = import_model(made_->path("whole/fashion_cnn.quench.onnx"));
    const Graph given = import_model(folder_.path("broken/fashion_cnn.quench.onnx"));
    for (const Value* constant : wanted.constants())
      EXPECT_TRUE(constant->tensor().equal(given.value(constant->name()).tensor())) << constant->name();
    if (more.empty()) EXPECT_EQ(model_in(folder_, "broken"), model_in(*made_, "whole"));
    return record;
  }

  TemporaryFolder folder_;
  static double seconds_;  // of the unbroken run
  static std::unique_ptr<TemporaryFolder> made_;
};
double Resumed::seconds_ = 0;
std::unique_ptr<TemporaryFolder> Resumed::made_;

// Ten times at random moments. A run that was done before is no kill: it begins again.
TEST_F(Resumed, AfterKills) {
  int kills = 0;
  for (std::uint64_t attempt = 0; kills < 10 && attempt < 60; ++attempt) {
    const TemporaryFolder outputs;
    const pid_t child = start_program(together(folder_.path("broken"), {"--resume"}), outputs);
    const double share = static_cast<double>(random_bits(11, attempt) >> 11) / static_cast<double>(1ULL << 53);
    std::this_thread::sleep_for(std::chrono::duration<double>(share * seconds_));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool is_done = std::filesystem::exists(folder_.path("broken/record.json")) &&
                         !std::filesystem::exists(folder_.path("broken/.reconstruction"));
    if (WIFSIGNALED(status) && !is_done)
      ++kills;
    else
      std::filesystem::remove_all(folder_.path("broken"));
  }
  EXPECT_EQ(kills, 10);
  finish();
}

TEST_F(Resumed, NotWhenItIsFinished) {
  const std::string before = read_text(made_->path("whole/record.json"));
  expect_refused(quench_run(together(made_->path("whole"), {"--resume"})), "there is nothing to resume");
  EXPECT_EQ(read_text(made_->path("whole/record.json")), before);
}

// An interrupt says how to go on; where caches lie may change.
TEST_F(Resumed, AfterAnInterruptWithLessMemory) {
  const TemporaryFolder outputs;
  const pid_t child = start_program(together(folder_.path("broken")), outputs);
  const auto has_said_a_unit = [&] { return read_text(outputs.path("err")).find("(1 of ") != std::string::npos; };
  for (int i = 0; i < 12000 && !has_said_a_unit(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child, SIGINT);
  const Outcome interrupted = wait_for(child, outputs);
  EXPECT_EQ(interrupted.code, 130);
  EXPECT_NE(interrupted.err.find("the same command with --resume goes on after the last finished unit"),
            std::string::npos)
      << interrupted.err;
  const nlohmann::json record = finish({"--max-memory", "1M"});
  EXPECT_GT(record.at("spilled_bytes"), 0);
  EXPECT_LE(record.at("memory_bytes"), 1 << 20);
}

}  // namespace
}  // namespace quench
