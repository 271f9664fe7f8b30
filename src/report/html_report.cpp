#include "quench/html_report.h"

#include "core/atomic_file.h"
#include "quench/error.h"
#include "report/histogram_json.h"
#include "report/html/page.h"
#include "report/machine.h"
#include "report/report_run.h"

namespace quench {
namespace {

constexpr std::string_view kDataMark = "{{data}}";

// Inside <script> nothing is markup but "</script" and "<!--": neither can be there without a '<'.
std::string script_text(const Json& data) {
  std::string safe;
  for (const char letter : data.dump(-1, ' ', false, Json::error_handler_t::replace))
    safe += letter == '<' ? std::string("\\u003c") : std::string(1, letter);
  return safe;
}

std::string page_of(Json runs) {
  const Json data = {{"quench", describe_machine().version}, {"runs", std::move(runs)}};
  const std::string_view page = kReportPage;
  const std::size_t mark = page.find(kDataMark);
  return concat(page.substr(0, mark), script_text(data), page.substr(mark + kDataMark.size()));
}

}  // namespace

std::string html_report(const std::vector<ReportRun>& runs) {
  QUENCH_CHECK(!runs.empty(), "a report is about at least one run");
  Json list = Json::array();
  for (const ReportRun& run : runs) list.push_back(run_json(run));
  return page_of(std::move(list));
}

std::string html_report(const Quantized& result, const std::string& name,
                        const std::vector<TensorHistogram>& activations) {
  return page_of(Json::array({run_json(result, name, activations)}));
}

void write_html_report(const std::vector<ReportRun>& runs, const std::string& path) {
  write_file_atomically(path, html_report(runs));
}

std::string histograms_text(const std::vector<TensorHistogram>& activations, std::int64_t items) {
  return Json({{"items", items}, {"tensors", json_of(activations)}}).dump() + "\n";
}

}  // namespace quench
