#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "cli/demo.h"
#include "cli/program.h"
#include "core/philox.h"
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

// The deployed file has exactly the codes that were learned, and ONNX Runtime computes with them.
TEST(Method, TheLearnedCodesAreDeployed) {
  std::string why;
  if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const Outcome made = quench_run({"quantize",   demo_model(),
                                   "--platform", "onnxruntime",
                                   "--method",   "brecq",
                                   "--set",      "method.max_count=40",
                                   "--set",      "method.lr=0.02",
                                   "--set",      "method.weight_scale_lr=0.001",
                                   "--calib",    demo_data(0, 32),
                                   "--profile",  "0",
                                   "-o",         folder.path("out"),
                                   "--threads",  "1",
                                   "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  const nlohmann::json record = made.json();
  for (const auto& unit : record.at("reconstruction").at("units")) EXPECT_GT(unit.at("moved"), 0.001);
  const Outcome outcome = quench_run({"verify", folder.path("out/deploy"), "--runtime", "onnxruntime", "--data",
                                      demo_data(300, 32), "--layers", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST(Method, UnitsAreShown) {
  const Outcome outcome = quench_run({"inspect", demo_model(), "--units"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("block1"), std::string::npos) << outcome.out;
  EXPECT_GT(quench_run({"inspect", demo_model(), "--units", "layer", "--json"}).json().size(),
            quench_run({"inspect", demo_model(), "--units", "--json"}).json().size());
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
  refused({"--max-memory", "1G"}, "give --method NAME");
  expect_refused(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 4), "-o",
                             folder.path("out"), "--resume"}),
                 "--method NAME");
}

// Before the first unit is done there is nothing to keep.
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
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
  }
}

// Killed ten times at random moments, it ends in the bits of an unbroken run.
TEST(Method, ResumesAfterAKill) {
  const TemporaryFolder folder;
  const Outcome whole = quench_run(job(folder.path("whole")));
  ASSERT_EQ(whole.code, 0) << whole.err;
  for (std::uint64_t kill = 0; kill < 10; ++kill) {
    const TemporaryFolder outputs;
    const pid_t child = start_program(job(folder.path("broken"), {"--resume"}), outputs);
    const double share = static_cast<double>(random_bits(11, kill) >> 11) / static_cast<double>(1ULL << 53);
    std::this_thread::sleep_for(std::chrono::duration<double>(share * whole.seconds));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) std::filesystem::remove_all(folder.path("broken"));  // it was done already: once more
  }
  std::ptrdiff_t kept = 0;
  if (const std::string units = folder.path("broken/.reconstruction"); std::filesystem::exists(units))
    for (const auto& file : std::filesystem::directory_iterator(units))
      kept += file.path().extension() == ".safetensors";
  const Outcome last = quench_run(job(folder.path("broken"), {"--resume"}));
  ASSERT_EQ(last.code, 0) << last.err;
  std::ptrdiff_t resumed = 0;
  const nlohmann::json record = nlohmann::json::parse(read_text(folder.path("broken/record.json")));
  for (const auto& unit : record.at("reconstruction").at("units")) resumed += unit.at("resumed") ? 1 : 0;
  EXPECT_EQ(resumed, kept) << last.err;
  EXPECT_EQ(model_in(folder, "broken"), model_in(folder, "whole"));
}

}  // namespace
}  // namespace quench
