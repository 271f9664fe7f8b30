// Interrupted and killed reconstructions, and what --resume makes of them.
#include <ATen/ATen.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <functional>
#include <thread>

#include "cli/method_job.h"
#include "core/folder_lock.h"
#include "core/philox.h"
#include "quench/import.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

std::string model_in(const TemporaryFolder& folder, const std::string& out) {
  return read_text(folder.path(out + "/fashion_cnn.quench.onnx"));
}

void wait_until(const std::function<bool()>& is_so) {
  for (int i = 0; i < 60000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Before the first unit is done there is nothing to keep. Nobody else may work there meanwhile.
TEST(Method, AnInterruptThatComesEarlyLeavesNothing) {
  const TemporaryFolder folder, outputs;
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--max-memory", "1M"}}) {
    std::vector<std::string> endless = job(folder.path("out"), more);
    std::replace(endless.begin(), endless.end(), std::string("method.max_count=60"),
                 std::string("method.max_count=1000000"));
    const pid_t child = start_program(endless, outputs);
    wait_until([&] { return fs::exists(folder.path("out/.reconstruction")); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (more.empty()) expect_refused(quench_run(job(folder.path("out"))), "another process is working in");
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    EXPECT_FALSE(fs::exists(folder.path("out")));
  }
}

std::ptrdiff_t units_in(const std::string& folder) {
  std::ptrdiff_t count = 0;
  if (!fs::exists(folder)) return 0;
  for (const auto& file : fs::directory_iterator(folder)) count += file.path().extension() == ".safetensors";
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
  Outcome interrupted_after_a_unit() const {
    const TemporaryFolder outputs;
    const pid_t child = start_program(together(folder_.path("broken")), outputs);
    wait_until([&] { return read_text(outputs.path("err")).find("(1 of ") != std::string::npos; });
    ::kill(child, SIGINT);
    return wait_for(child, outputs);
  }
  nlohmann::json notes() const {
    return nlohmann::json::parse(read_text(folder_.path("broken/record.json"))).at("notes");
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
    const bool is_done =
        fs::exists(folder_.path("broken/record.json")) && !fs::exists(folder_.path("broken/.reconstruction"));
    if (WIFSIGNALED(status) && !is_done)
      ++kills;
    else
      fs::remove_all(folder_.path("broken"));
  }
  EXPECT_EQ(kills, 10);
  finish();
}

TEST_F(Resumed, NotWhenItIsFinished) {
  const std::string before = read_text(made_->path("whole/record.json"));
  expect_refused(quench_run(together(made_->path("whole"), {"--resume"})), "there is nothing to resume");
  EXPECT_EQ(read_text(made_->path("whole/record.json")), before);
}

// They may be hours of work, whatever is to be written into the folder.
TEST(Method, FinishedUnitsAreNotLostUnasked) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out"), unit = out + "/.reconstruction/unit_0.safetensors";
  fs::create_directories(out + "/.reconstruction");
  std::ofstream(unit) << "precious";
  const std::string why =
      "holds finished units of an interrupted run: the same command as before with --resume continues it, --force "
      "discards them";
  const std::vector<std::string> plain = {"quantize", demo_model(),    "--platform", "onnxruntime", "--no-deploy",
                                          "--calib",  demo_data(0, 4), "--profile",  "0",           "-o",
                                          out};
  expect_refused(quench_run(plain), why);
  expect_refused(quench_run(job(out)), why);
  expect_refused(quench_run({"train", demo_model(), "--platform", "onnxruntime", "--train", demo_data(0, 32), "-o", out,
                             "--resume"}),
                 why);
  std::vector<std::string> wrong = job(out);
  wrong.insert(wrong.end(), {"--force", "--set", "method.units=nosuch"});
  expect_refused(quench_run(wrong), "unknown layer or unit 'nosuch'");
  EXPECT_EQ(read_text(unit), "precious");
  std::vector<std::string> forced = plain;
  forced.emplace_back("--force");
  const Outcome outcome = quench_run(forced);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(unit));
}

// A job of any kind has its folder for itself, from before it reads anything.
TEST(Method, NobodyElseWritesIntoTheFolderOfAJob) {
  const TemporaryFolder folder;
  const FolderLock other(folder.path("out"));
  expect_refused(quench_run({"quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 4), "-o",
                             folder.path("out")}),
                 "another process is working in '" + folder.path("out") + "'");
}

// An interrupt says how to go on; where caches lie may change.
TEST_F(Resumed, AfterAnInterruptWithLessMemory) {
  const Outcome interrupted = interrupted_after_a_unit();
  EXPECT_EQ(interrupted.code, 130);
  EXPECT_NE(interrupted.err.find("the same command with --resume goes on after the last finished unit"),
            std::string::npos)
      << interrupted.err;
  const nlohmann::json record = finish({"--max-memory", "1M"});
  EXPECT_GT(record.at("spilled_bytes"), 0);
  EXPECT_LE(record.at("memory_bytes"), 1 << 20);
  EXPECT_EQ(notes().dump().find("number of threads"), std::string::npos) << notes();
}

// Its bits may be others then, which the record must say.
TEST_F(Resumed, WithAnotherNumberOfThreadsItSaysSo) {
  ASSERT_EQ(interrupted_after_a_unit().code, 130);
  std::vector<std::string> arguments = together(folder_.path("broken"), {"--resume"});
  *std::next(std::find(arguments.begin(), arguments.end(), "--threads")) = "2";
  const Outcome last = quench_run(arguments);
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_NE(notes().dump().find("learned with another number of threads than the 2 of this one"), std::string::npos)
      << notes();
  const nlohmann::json record = nlohmann::json::parse(read_text(folder_.path("broken/record.json")));
  EXPECT_EQ(record.at("reconstruction").at("units").at(0).at("threads"), 1);
  EXPECT_FALSE(record.at("reconstruction").at("units").back().contains("threads"));
}

// Removing what was kept takes its time where it is much. Once half of it was left beside a complete result, and the
// advice was to go on from there.
TEST_F(Resumed, NotAfterAnInterruptThatComesLate) {
  const std::string kept = folder_.path("broken/.reconstruction");
  int code = 0;  // 0: the process was done before the signal came
  for (int attempt = 0; code == 0 && attempt < 10; ++attempt) {
    fs::remove_all(folder_.path("broken"));
    fs::create_directories(kept);
    for (int i = 0; i < 20000; ++i) std::ofstream(kept + "/left_" + std::to_string(i));
    const TemporaryFolder outputs;
    const pid_t child = start_program(together(folder_.path("broken"), {"--resume"}), outputs);
    wait_until([&] { return fs::exists(folder_.path("broken/record.json")); });
    ::kill(child, SIGINT);
    const Outcome outcome = wait_for(child, outputs);
    code = outcome.code;
    EXPECT_TRUE(code == 130 || code == 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("--resume goes on"), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(kept));
    EXPECT_EQ(model_in(folder_, "broken"), model_in(*made_, "whole"));
  }
  EXPECT_EQ(code, 130) << "no signal came in time";
}

}  // namespace
}  // namespace quench
