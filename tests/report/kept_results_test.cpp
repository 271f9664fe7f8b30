#include "report/kept_results.h"

#include <gtest/gtest.h>

#include "cli/program.h"
#include "core/output_folder.h"
#include "support/expect_error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

class KeptResults : public testing::Test {
 protected:
  KeptResults() {
    OutputFolder folder(out());
    for (const char* file : {"record.json", "model.quench.onnx", "deploy/model_qdq.onnx"})
      std::ofstream(folder.staged(file)) << file;
    folder.commit(false);
  }
  std::string out(const std::string& file = "") const { return folder_.path("out") + (file.empty() ? "" : "/" + file); }
  Json kept() const { return kept_results(out(), kVerifyFile, {}); }
  void keep(const std::string& runtime, int items) const {
    keep_result(out("deploy/model_qdq.onnx"), kVerifyFile, {{"runtime", runtime}, {"items", items}}, {"runtime"});
  }
  TemporaryFolder folder_;
};

TEST_F(KeptResults, OneOfEachRuntime) {
  keep("a", 1);
  keep("b", 2);
  keep("a", 3);
  ASSERT_EQ(kept().size(), 2U);
  EXPECT_EQ(kept()[0]["items"], 2);
  EXPECT_EQ(kept()[1]["items"], 3);
  EXPECT_EQ(kept()[1]["path"], "deploy/model_qdq.onnx");
  EXPECT_FALSE(kept()[1].contains("outdated"));
}

TEST_F(KeptResults, KnowsThatTheFileHasChanged) {
  keep("a", 1);
  std::ofstream(out("deploy/model_qdq.onnx")) << "another";
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0]["outdated"], true);
  keep("b", 2);  // and forgets what was about the file before
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0]["runtime"], "b");
}

TEST_F(KeptResults, AreGoneWithTheRun) {
  keep("a", 1);
  EXPECT_TRUE(fs::exists(out(kVerifyFile)));
  OutputFolder folder(out());
  std::ofstream(folder.staged("record.json")) << "new";
  folder.commit(false);
  EXPECT_FALSE(fs::exists(out(kVerifyFile)));
}

TEST_F(KeptResults, OfAFileThatNoRunWroteThereAreNone) {
  std::ofstream(out("own.onnx")) << "mine";
  std::ofstream(folder_.path("elsewhere.onnx")) << "mine";
  keep_result(out("own.onnx"), kBenchFile, {{"batch", 1}}, {"batch"});
  keep_result(folder_.path("elsewhere.onnx"), kBenchFile, {{"batch", 1}}, {"batch"});
  keep_result("zoo:resnet18?weights=none", kBenchFile, {{"batch", 1}}, {"batch"});
  EXPECT_FALSE(fs::exists(out(kBenchFile)));
  EXPECT_EQ(folder_.files(), 2U);
}

TEST_F(KeptResults, TakesWhatWasPrinted) {
  std::ofstream(folder_.path("one.json")) << R"({"runtime": "a"})";
  std::ofstream(folder_.path("two.json")) << R"({"files": [{"runtime": "b"}, {"runtime": "c"}], "passed": true})";
  const Json found = kept_results(out(), kVerifyFile, {folder_.path("one.json"), folder_.path("two.json")});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[2]["runtime"], "c");
  std::ofstream(folder_.path("list.json")) << "[]";
  EXPECT_ERROR(kept_results(out(), kVerifyFile, {folder_.path("list.json")}), "is not what 'quench verify' or 'quench bench' prints");
  EXPECT_ERROR(kept_results(out(), kVerifyFile, {folder_.path("none.json")}), "cannot read");
}

}  // namespace
}  // namespace quench
