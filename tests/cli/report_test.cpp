// quench report, and --report of quantize.
#include <filesystem>
#include <fstream>

#include "cli/demo.h"

namespace quench {
namespace {

using Json = nlohmann::json;

Json data_in(const std::string& file) {
  const std::string page = read_text(file), begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

Outcome quantize_demo(const std::string& folder, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "quantize", demo_model(), "--platform", "onnxruntime", "--calib", demo_data(0, 40), "--eval", demo_data(40, 40),
      "-o",       folder,       "--quiet",    "--profile",   "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return quench_run(arguments);
}

TEST(Report, NumbersAreThoseOfTheRecord) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  ASSERT_EQ(quantize_demo(out, {"--report"}).code, 0);
  const Json run = data_in(out + "/report.html")["runs"][0];
  EXPECT_EQ(run["record"], Json::parse(read_text(out + "/record.json")));
  EXPECT_EQ(run["name"], "out");
  EXPECT_EQ(run["activations"], Json::parse(read_text(out + "/histograms.json")));
  EXPECT_EQ(run["activations"]["items"], 32);
  EXPECT_EQ(run["weights"].size(), 11U);
  // Again, from the folder alone: the same page.
  const Outcome again = quench_run({"report", out, "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.json()["written"], out + "/report.html");
  EXPECT_EQ(data_in(out + "/report.html")["runs"][0], run);
}

// Before the work, not after it.
TEST(Report, AForeignPageIsNotReplaced) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("out"));
  std::ofstream(folder.path("out/report.html")) << "mine";
  const Outcome outcome = quantize_demo(folder.path("out"), {"--report", "--time"});
  expect_refused(outcome, "report.html' already exists");
  EXPECT_EQ(outcome.err.find("calibrate: "), std::string::npos) << outcome.err;
  EXPECT_EQ(read_text(folder.path("out/report.html")), "mine");
}

TEST(Report, CountsOnDataOnlyForARun) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& part) {
    expect_refused(quench_run({"report", folder.path("out"), "--data", demo_data(0, 4)}), part);
  };
  refused("is not a folder that 'quench quantize' or 'quench train' wrote");
  std::filesystem::create_directories(folder.path("out"));
  std::ofstream(folder.path("out/record.json")) << "[]";
  refused("has no list of its files (.quench-files), so nothing is written into it");
}

TEST(Report, ShowsWhatVerifyAndBenchFound) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out"), model = out + "/fashion_cnn.quench.onnx";
  ASSERT_EQ(quantize_demo(out, {"--no-deploy"}).code, 0);
  const Outcome bench = quench_run({"bench", model, "--seconds", "0.05", "--json"});
  ASSERT_EQ(bench.code, 0) << bench.err;
  std::ofstream(folder.path("verify.json")) << R"({"file": "f", "runtime": "r", "items": 3, "passed": true})";
  ASSERT_EQ(quench_run({"report", out, "--verify", folder.path("verify.json"), "-o", folder.path("page.html")}).code,
            0);
  const Json run = data_in(folder.path("page.html"))["runs"][0];
  ASSERT_EQ(run["speeds"].size(), 1U);
  EXPECT_EQ(run["speeds"][0]["items_per_second"], bench.json()["items_per_second"]);
  EXPECT_EQ(run["verified"][0]["runtime"], "r");
  EXPECT_FALSE(std::filesystem::exists(out + "/report.html"));
}

TEST(Report, CountsActivationsOfAFinishedRun) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  ASSERT_EQ(quantize_demo(out, {"--no-deploy"}).code, 0);
  ASSERT_EQ(quench_run({"report", out, "--quiet"}).code, 0);
  EXPECT_FALSE(data_in(out + "/report.html")["runs"][0].contains("activations"));
  const Outcome counted = quench_run({"report", out, "--quiet", "--data", demo_data(0, 40), "--limit", "5"});
  ASSERT_EQ(counted.code, 0) << counted.err;
  const Json activations = data_in(out + "/report.html")["runs"][0]["activations"];
  EXPECT_EQ(activations["items"], 5);
  EXPECT_EQ(activations["tensors"][0]["value"], "input");
  EXPECT_EQ(activations["tensors"][0]["elements"], 5 * 28 * 28);
  // The next job replaces all that is about this one.
  ASSERT_EQ(quantize_demo(out, {"--no-deploy", "--force"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(out + "/report.html"));
  EXPECT_FALSE(std::filesystem::exists(out + "/histograms.json"));
}

TEST(Report, RefusesWhatItCannotTell) {
  const TemporaryFolder folder;
  expect_refused(quench_run({"report", folder.path("a"), folder.path("b")}), "give -o FILE.html");
  expect_refused(
      quench_run({"report", folder.path("a"), folder.path("b"), "-o", folder.path("p.html"), "--bench", "x"}),
      "give them with one folder");
  std::filesystem::create_directories(folder.path("copy"));
  expect_refused(quench_run({"report", folder.path("copy")}), "nothing is written into it: give -o FILE.html");
  expect_refused(quench_run({"report", folder.path("copy"), "-o", folder.path("p.html")}),
                 "there is no record.json in");
  expect_refused(quench_run({"report", folder.path("none")}), "is not a folder that 'quench quantize'");
}

}  // namespace
}  // namespace quench
