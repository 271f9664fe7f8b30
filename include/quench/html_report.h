// One HTML page about one or several runs of `quench quantize` and `quench train`, for people: summary, graph, layers,
// tensors, curves, provenance. The page is complete in itself: no network, no other files. What it shows is what the
// record says; docs/report.md describes it.
#pragma once

#include <string>
#include <vector>

#include "quench/quantize.h"
#include "quench/tensor_histogram.h"

namespace quench {

// What a run left, by its files.
struct ReportRun {
  std::string folder;                      // with record.json and the model
  std::string name = {};                   // as the page calls it; "": the folder's name
  std::string training = {};               // the folder of training's logs; "": FOLDER/training
  std::vector<std::string> verified = {};  // files of `quench verify --json`, beside FOLDER/verify.json
  std::vector<std::string> speeds = {};    // files of `quench bench --json`, beside FOLDER/bench.json
};

// Several runs stand side by side, in this order. Throws, naming the folder, if it lacks a record or a model.
std::string html_report(const std::vector<ReportRun>& runs);
void write_html_report(const std::vector<ReportRun>& runs, const std::string& path);  // atomically

// Of a result that was not written; `activations` are those of activation_histograms(), or none.
std::string html_report(const Quantized& result, const std::string& name,
                        const std::vector<TensorHistogram>& activations = {});

// The page's usual name, and what `--report` keeps of the activations in a run's folder.
inline constexpr const char* kReportFile = "report.html";
inline constexpr const char* kHistogramsFile = "histograms.json";
std::string histograms_text(const std::vector<TensorHistogram>& activations, std::int64_t items);

}  // namespace quench
