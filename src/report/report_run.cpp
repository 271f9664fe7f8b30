#include "report/report_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/output_folder.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/open_model.h"
#include "report/graph_json.h"
#include "report/histogram_json.h"
#include "report/kept_results.h"
#include "report/quantize_record.h"

namespace fs = std::filesystem;

namespace quench {
namespace {

constexpr std::size_t kMostSteps = 1000;  // of a curve

fs::path record_of(const ReportRun& run) {
  const fs::path folder = run.folder, path = folder / "record.json";
  QUENCH_CHECK(fs::is_directory(folder), "'", run.folder,
               "' is not a folder that 'quench quantize' or 'quench train' wrote");
  QUENCH_CHECK(fs::exists(path), "there is no record.json in '", run.folder,
               "': it is not a folder that 'quench quantize' or 'quench train' wrote");
  return path;
}

fs::path model_of(const ReportRun& run, const Json& record) {
  QUENCH_CHECK(record.is_object() && record.contains("model") && record["model"].is_string(), "'",
               record_of(run).string(), "' is not a record of 'quench quantize' or 'quench train': it names no model");
  const fs::path path = fs::path(run.folder) / (name_of_model(record["model"]) + ".quench.onnx");
  QUENCH_CHECK(fs::exists(path), "the model that '", record_of(run).string(), "' is about is missing: '", path.string(),
               "'");
  return path;
}

std::vector<TensorHistogram> weights_of(Graph graph) {
  if (!holds_plan(graph) || quantizers_of(graph).empty()) return {};
  return weight_histograms(quantized_model_of(std::move(graph)));
}

// Of the losses of steps every so many, each the mean of those since the one before.
Json steps_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::array<double, 3>> steps;
  for (std::string line; std::getline(file, line);) {
    std::array<double, 3> one{};
    double epoch = 0;
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf", &one[0], &epoch, &one[1], &one[2]) == 4) steps.push_back(one);
  }
  const std::size_t every = std::max<std::size_t>(1, (steps.size() + kMostSteps - 1) / kMostSteps);
  Json list = Json::array();
  for (std::size_t at = 0; at < steps.size(); at += every) {
    const std::size_t end = std::min(at + every, steps.size());
    double loss = 0;
    for (std::size_t i = at; i < end; ++i) loss += steps[i][1] / static_cast<double>(end - at);
    list.push_back({steps[end - 1][0], loss, steps[end - 1][2]});
  }
  return list;
}

// Of a folder that is being written there is no list yet: all are ours.
Json files_of(const std::string& folder) {
  const std::vector<std::string> own = own_files(folder);
  Json list = Json::array();
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string file = entry.path().lexically_relative(folder).string(), name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.starts_with(".") || name == kReportFile) continue;
    if (!own.empty() && std::find(own.begin(), own.end(), file) == own.end()) continue;
    list.push_back({{"path", file}, {"bytes", entry.file_size()}});
  }
  std::sort(list.begin(), list.end(), [](const Json& a, const Json& b) { return a["path"] < b["path"]; });
  return list;
}

std::string name_of_folder(const std::string& folder) {
  const fs::path path = fs::weakly_canonical(folder);
  return path.filename().string();
}

}  // namespace

Json run_json(const ReportRun& run) {
  return with_context(
      [&] { return concat("while reading the run in '", run.folder, "'"); },
      [&] {
        const fs::path folder = run.folder;
        Json record = read_json(record_of(run).string());
        const Graph graph = import_model(model_of(run, record).string());
        Json object = {{"name", run.name.empty() ? name_of_folder(run.folder) : run.name}};
        object["graph"] = graph_json(graph);
        object["weights"] = json_of(weights_of(graph));
        if (fs::exists(folder / kHistogramsFile))
          object["activations"] = read_json((folder / kHistogramsFile).string());
        object["verified"] = kept_results(run.folder, kVerifyFile, run.verified);
        object["speeds"] = kept_results(run.folder, kBenchFile, run.speeds);
        object["steps"] = steps_of((run.training.empty() ? folder / "training" : fs::path(run.training)) / "steps.csv");
        object["files"] = files_of(run.folder);
        object["record"] = std::move(record);
        return object;
      });
}

Json run_json(const Quantized& result, const std::string& name, const std::vector<TensorHistogram>& activations) {
  Json object = {{"name", name}, {"graph", graph_json(result.model.graph)}};
  object["weights"] = json_of(weight_histograms(result.model));
  if (!activations.empty()) object["activations"] = Json::parse(histograms_text(activations, 0));
  for (const char* none : {"verified", "speeds", "steps", "files"}) object[none] = Json::array();
  object["record"] = json_of(result.record);
  return object;
}

}  // namespace quench
