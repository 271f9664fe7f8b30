#include "quench/html_report.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "core/output_folder.h"
#include "quench/export.h"
#include "report/json.h"
#include "report/quantize_record.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// One item of [2]: 1 and 2.
class OnePair : public Dataset {
 public:
  std::int64_t size() const override { return 1; }
  Sample get(std::int64_t) const override {
    Sample sample;
    sample.inputs = RtValue(at::tensor({1.0F, 2.0F}));
    return sample;
  }
  Task task() const override { return Task::kNone; }
};

constexpr const char* kHostile = "</script><script>alert(1)</script><!--";

Quantized quantized_product(const std::string& name) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 2}));
  Value& w = graph.add_constant("w", at::tensor({1.0F, -2.0F, 3.0F, 4.0F}).reshape({2, 2}));
  graph.add_output(graph.add("MatMul", name, {&x, &w}).output());
  QuantConfig config;
  config.platform = "onnxruntime";
  Quantized result = quantize(graph, OnePair(), config);
  result.record.model = "product.onnx";
  return result;
}

Json data_in(const std::string& page) {
  const std::string begin = "id=\"data\">", end = "</script>";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find(end, from) - from));
}

void write_run(const std::string& folder, const Quantized& result) {
  OutputFolder out(folder);
  export_onnx(with_plan_text(result.model), out.staged("product.quench.onnx"));
  std::ofstream(out.staged("record.json")) << json_of(result.record).dump(2);
  out.commit(false);
}

TEST(HtmlReport, CarriesTheRecordWordForWord) {
  const TemporaryFolder temporary;
  const Quantized result = quantized_product("product");
  write_run(temporary.path("out"), result);
  const std::string page = html_report(std::vector<ReportRun>{{temporary.path("out")}});
  const Json run = data_in(page)["runs"][0];
  EXPECT_EQ(run["name"], "out");
  EXPECT_EQ(run["record"].dump(), json_of(result.record).dump());
  EXPECT_EQ(run["record"].dump(), Json::parse(read_text(temporary.path("out/record.json"))).dump());
}

TEST(HtmlReport, IsTheSameOfAResultInMemory) {
  const TemporaryFolder temporary;
  const Quantized result = quantized_product("product");
  write_run(temporary.path("out"), result);
  Json read = data_in(html_report(std::vector<ReportRun>{{temporary.path("out")}}))["runs"][0];
  const Json kept = data_in(html_report(result, "out"))["runs"][0];
  EXPECT_EQ(read["files"].size(), 2U);
  read["files"] = Json::array();
  EXPECT_EQ(read, kept);
}

TEST(HtmlReport, NoNameEndsTheScript) {
  const std::string page = html_report(quantized_product(kHostile), kHostile);
  EXPECT_EQ(page.find(kHostile), std::string::npos);
  const Json run = data_in(page)["runs"][0];
  EXPECT_EQ(run["name"], kHostile);
  EXPECT_EQ(run["graph"]["nodes"][0]["name"], kHostile);
}

TEST(HtmlReport, LoadsNothing) {
  const std::string page = html_report(quantized_product("product"), "one");
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  // The namespace of SVG is a name, not an address that anything is loaded from.
  std::string rest = page;
  const std::string svg = "http://www.w3.org/2000/svg";
  rest.erase(rest.find(svg), svg.size());
  EXPECT_EQ(rest.find("http://"), std::string::npos);
}

TEST(HtmlReport, ShowsWhatIsReadThroughAQuantizer) {
  const Json graph = data_in(html_report(quantized_product("product"), "one"))["runs"][0]["graph"];
  ASSERT_EQ(graph["nodes"].size(), 1U);
  const Json& node = graph["nodes"][0];
  EXPECT_EQ(node["op"], "MatMul");
  EXPECT_EQ(node["inputs"], Json({"x", "w"}));
  EXPECT_EQ(node["quantized"], Json({1, 1}));
  EXPECT_EQ(graph["values"]["w"], Json({{"shape", "2 x 2"}, {"constant", true}}));
  EXPECT_EQ(graph["inputs"], Json::array({"x"}));
}

TEST(HtmlReport, RunsStandInTheOrderGiven) {
  const TemporaryFolder temporary;
  for (const char* name : {"first", "second"}) write_run(temporary.path(name), quantized_product("product"));
  write_html_report({{temporary.path("second")}, {temporary.path("first"), "renamed"}}, temporary.path("page.html"));
  const Json runs = data_in(read_text(temporary.path("page.html")))["runs"];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["name"], "second");
  EXPECT_EQ(runs[1]["name"], "renamed");
}

TEST(HtmlReport, ReadsTheStepsOfTraining) {
  const TemporaryFolder temporary;
  write_run(temporary.path("out"), quantized_product("product"));
  std::filesystem::create_directories(temporary.path("out/training"));
  std::ofstream file(temporary.path("out/training/steps.csv"));
  file << "step,epoch,loss,learning_rate\n";
  for (int i = 1; i <= 2000; ++i) file << i << ",1," << (i % 2 == 0 ? 3 : 1) << ",0.5\n";
  file.close();
  const Json steps = data_in(html_report(std::vector<ReportRun>{{temporary.path("out")}}))["runs"][0]["steps"];
  ASSERT_EQ(steps.size(), 1000U);
  EXPECT_EQ(steps[0], Json({2.0, 2.0, 0.5}));  // the mean of two steps, at the second
}

TEST(HtmlReport, SaysWhatAFolderLacks) {
  const TemporaryFolder temporary;
  const auto report = [&](const char* name) { return html_report(std::vector<ReportRun>{{temporary.path(name)}}); };
  EXPECT_ERROR(html_report(std::vector<ReportRun>{}), "a report is about at least one run");
  EXPECT_ERROR(report("none"), "is not a folder that 'quench quantize' or 'quench train' wrote");
  std::filesystem::create_directories(temporary.path("empty"));
  EXPECT_ERROR(report("empty"), "there is no record.json in");
  std::ofstream(temporary.path("empty/record.json")) << "{";
  EXPECT_ERROR(report("empty"), "record.json' is not JSON: ");
  std::ofstream(temporary.path("empty/record.json")) << "{}";
  EXPECT_ERROR(report("empty"), "it names no model");
  std::ofstream(temporary.path("empty/record.json")) << R"({"model": "product.onnx"})";
  EXPECT_ERROR(report("empty"), "product.quench.onnx'");
}

}  // namespace
}  // namespace quench
