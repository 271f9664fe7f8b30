#include <sys/resource.h>

#include <csignal>
#include <map>

#include "cli/demo.h"
#include "cli/program.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/prepare.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

// One calibrated model for all tests.
class Deploy : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = std::make_unique<TemporaryFolder>();
    const Outcome outcome = quench_run({"quantize", demo_model(), "-o", made_->path("q"), "--platform", "tensorrt",
                                        "--calib", demo_data(0, 16), "--profile", "0"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static void TearDownTestSuite() { made_.reset(); }

  static std::string model() { return made_->path("q/fashion_cnn.quench.onnx"); }
  std::string out() const { return folder_.path("files"); }
  Outcome run(std::vector<std::string> more = {}, const std::string& from = model()) const {
    std::vector<std::string> arguments = {"deploy", from, "-o", out()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  }
  // Names and contents of all files in the folder except the list of them; hidden ones too.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> files;
    if (fs::exists(out()))
      for (const auto& entry : fs::recursive_directory_iterator(out()))
        if (entry.path().filename() != ".quench-files")
          files[entry.path().filename().string()] = entry.is_directory() ? "" : read_text(entry.path().string());
    return files;
  }

  TemporaryFolder folder_;

 private:
  static std::unique_ptr<TemporaryFolder> made_;
};
std::unique_ptr<TemporaryFolder> Deploy::made_;

TEST_F(Deploy, WritesThePlatformsFiles) {
  const Outcome outcome = run({"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto files = contents();
  ASSERT_EQ(files.size(), 3U);
  for (const char* name : {"fashion_cnn_quantizers.onnx", "fashion_cnn_deploy_model.onnx"})
    EXPECT_GT(import_model(out() + "/" + name).nodes().size(), 0U) << name;
  EXPECT_TRUE(nlohmann::json::parse(files.at("fashion_cnn_clip_ranges.json")).contains("tensorrt"));
  EXPECT_EQ(outcome.json().at("platform"), "tensorrt");
  EXPECT_EQ(outcome.json().at("files").size(), 3U);
}

TEST_F(Deploy, SaysWhichFilesToShip) {
  const Outcome outcome = run();
  EXPECT_NE(outcome.out.find("to ship     fashion_cnn_deploy_model.onnx and fashion_cnn_clip_ranges.json\n"),
            std::string::npos)
      << outcome.out;
  std::map<std::string, std::string> uses;
  const nlohmann::json again = run({"--json", "--force", "--option", "deploy_to_qlinear=true"}).json();
  for (const auto& file : again.at("files")) uses[file.at("name")] = file.at("use");
  const std::map<std::string, std::string> expected = {{"fashion_cnn_quantizers.onnx", "reference"},
                                                       {"fashion_cnn_deploy_model.onnx", "ship"},
                                                       {"fashion_cnn_clip_ranges.json", "ship"},
                                                       {"onnx_quantized_model.onnx", "instead"}};
  EXPECT_EQ(uses, expected);
}

// Neither where the data was, nor anything that differs from one time to the next.
TEST_F(Deploy, TellsNothingAboutTheJob) {
  ASSERT_EQ(run().code, 0);
  const auto first = contents();
  const std::string data = fs::path(demo_file("")).parent_path().string();
  EXPECT_NE(read_text(model()).find(data), std::string::npos) << "the calibrated model holds its record";
  for (const auto& [name, text] : first) EXPECT_EQ(text.find(data), std::string::npos) << name;
  ASSERT_EQ(run({"--force"}).code, 0);
  EXPECT_EQ(contents(), first);
  for (const auto& [name, text] : first)
    EXPECT_EQ(read_text(fs::path(model()).parent_path() / "deploy" / name), text) << name << ", by quench quantize";
}

TEST_F(Deploy, ComparesOnGivenData) {
  EXPECT_EQ(run({"--data", demo_data(0, 8)}).code, 0);
  expect_refused(run({"--data", "idx:/no/such/file?norm=mnist", "--force"}), "/no/such/file");
}

TEST_F(Deploy, NameAndOptions) {
  const Outcome outcome = run({"--name", "net", "--option", "deploy_to_qlinear=true"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto files = contents();
  for (const char* name :
       {"net_quantizers.onnx", "net_deploy_model.onnx", "net_clip_ranges.json", "onnx_quantized_model.onnx"})
    EXPECT_TRUE(files.contains(name)) << name;
  EXPECT_NE(outcome.out.find("note"), std::string::npos) << outcome.out;
}

TEST_F(Deploy, ExistingFilesAreReplacedOnlyWithForce) {
  ASSERT_EQ(run().code, 0);
  std::ofstream(out() + "/fashion_cnn_clip_ranges.json") << "mine";
  const auto before = contents();
  expect_refused(run(), "already exists; --force replaces it");
  EXPECT_EQ(contents(), before);
  ASSERT_EQ(run({"--force"}).code, 0);
  EXPECT_NE(contents().at("fashion_cnn_clip_ranges.json"), "mine");
  EXPECT_EQ(contents().size(), 3U);
}

// What an earlier deployment left is gone with it, whatever it was called; a file of the user's is not.
TEST_F(Deploy, AFolderOfOursIsMadeAnew) {
  ASSERT_EQ(run({"--option", "deploy_to_qlinear=true"}).code, 0);
  ASSERT_TRUE(contents().contains("onnx_quantized_model.onnx"));
  std::ofstream(out() + "/notes.txt") << "mine";
  expect_refused(run({"--name", "other"}), "already exists; --force replaces it");
  ASSERT_EQ(run({"--name", "other", "--force"}).code, 0);
  const auto files = contents();
  EXPECT_EQ(files.size(), 4U);
  EXPECT_TRUE(files.contains("other_quantizers.onnx"));
  EXPECT_EQ(files.at("notes.txt"), "mine");
}

// One of three is in the way: the other two are not written.
TEST_F(Deploy, AFolderInTheWay) {
  fs::create_directories(out() + "/fashion_cnn_clip_ranges.json");
  expect_refused(run({"--force"}), "is a folder");
  EXPECT_EQ(contents().size(), 1U);
}

TEST_F(Deploy, AFolderThatCannotBeMade) {
  expect_refused(quench_run({"deploy", model(), "-o", "/proc/files"}), "/proc/files");
  expect_refused(quench_run({"deploy", model(), "-o", "/proc"}), "no files can be created in '/proc'");
  std::ofstream(out()) << "a file";
  expect_refused(run(), "exists and is not a folder");
  EXPECT_EQ(read_text(out()), "a file");
}

TEST_F(Deploy, AReadOnlyFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::create_directories(out());
  fs::permissions(out(), fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome outcome = run();
  fs::permissions(out(), fs::perms::owner_all);
  expect_refused(outcome, "no permission to write");
  EXPECT_TRUE(contents().empty());
}

// As on a full disk, writing fails on the way.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small = {bytes, before_.rlim_max};
    handler_ = std::signal(SIGXFSZ, SIG_IGN);  // a program inherits it
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

TEST_F(Deploy, AFullDiskLeavesNothing) {
  const auto run_with = [&](const std::vector<std::string>& more) {
    const SmallFiles limit(16384);  // messages fit, models do not
    return run(more);
  };
  expect_refused(run_with({}), "cannot write");
  EXPECT_FALSE(fs::exists(out()));
  ASSERT_EQ(run().code, 0);
  const auto before = contents();
  expect_refused(run_with({"--force"}), "cannot write");
  EXPECT_EQ(contents(), before);
}

TEST_F(Deploy, RefusesWhatIsNotReady) {
  expect_refused(run({}, demo_model()), "the model carries no plan: 'quench quantize' on the float model makes one");
  QuantizedModel prepared = prepare_by_platform(import_model(demo_model()), "tensorrt");
  export_onnx(with_plan_text(prepared), folder_.path("prepared.quench.onnx"));
  expect_refused(run({}, folder_.path("prepared.quench.onnx")), "the model is prepared, not calibrated");
  enable_quantization(prepared);
  export_onnx(with_plan_text(prepared), folder_.path("uncalibrated.quench.onnx"));
  expect_refused(run({}, folder_.path("uncalibrated.quench.onnx")), "the model is prepared, not calibrated");
  expect_refused(run({}, folder_.path("absent.quench.onnx")), "absent.quench.onnx");
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Deploy, RefusesWhatItDoesNotKnow) {
  expect_refused(run({"--option", "deploy_to_qliner=1"}), "deploy_to_qliner");
  expect_refused(run({"--option", "deploy_to_qlinear"}), "--option takes NAME=VALUE");
  expect_refused(run({"--option", "deploy_to_qlinear=perhaps"}), "deploy_to_qlinear");
  expect_refused(run({"--platform", "no_such"}), "no_such");
  expect_refused(run({"--platform", "vitis"}), "while deploying a plan for 'tensorrt' to 'vitis'");
  expect_refused(run({"--platform", "fbgemm"}), "fbgemm");
  expect_refused(run({"--name", "a/b"}), "cannot be the name of the deployed files");
  expect_refused(run({"--name", ".."}), "cannot be the name of the deployed files");
  expect_refused(run({"--name", "new\nline"}), "a control character such as a line break");
  EXPECT_FALSE(fs::exists(out()));
}

}  // namespace
}  // namespace quench
