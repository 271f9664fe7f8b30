#include "verify/source_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "convert/ready.h"
#include "deploy/file_endings.h"
#include "deploy/quantizer_differences.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/rt_value.h"
#include "quench/verify.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> models_near(const std::string& file) {
  std::vector<fs::path> found;
  const fs::path folder = fs::absolute(file).parent_path();
  for (const fs::path& place : {folder, folder.parent_path()}) {
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(place, unreadable))
      if (entry.path().filename().string().ends_with(kCalibratedEnding)) found.push_back(entry.path());
  }
  return found;
}

bool is_called_after(const std::string& file, const fs::path& model) {
  const std::string name = model.filename().string(),
                    stem = name.substr(0, name.size() - std::string_view(kCalibratedEnding).size());
  const std::string own = fs::path(file).filename().string();
  return own == stem + ".onnx" || own.starts_with(stem + "_");
}

std::vector<std::string> ends_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* input : graph.inputs()) names.push_back(input->name());
  names.emplace_back("->");
  for (const Value* output : graph.outputs()) names.push_back(output->name());
  return names;
}

Graph ready_model(const std::string& path) {
  return with_context([&] { return concat("in the calibrated model ", path); },
                      [&] { return ready_for_deployment(quantized_model_of(import_model(path))); });
}

}  // namespace

std::string find_source_model(const DeployedModel& file) {
  const std::vector<fs::path> near = models_near(file.path);
  std::vector<fs::path> after;
  for (const fs::path& model : near)
    if (is_called_after(file.path, model)) after.push_back(model);
  const auto stem = [](const fs::path& model) { return model.filename().string().size(); };
  std::sort(after.begin(), after.end(), [&](const fs::path& a, const fs::path& b) { return stem(a) > stem(b); });
  // "net_v2.quench.onnx" is nearer to "net_v2_qdq.onnx" than "net.quench.onnx" is.
  if (after.size() == 1 || (after.size() > 1 && stem(after[0]) > stem(after[1]))) return after[0].string();
  if (near.size() != 1) return "";
  return ends_of(import_model(near[0].string())) == ends_of(file.file) ? near[0].string() : "";
}

SourceCheck::SourceCheck(const std::string& path, const DeployedModel& file, Task task)
    : path_(path), graph_(ready_model(path)) {
  QUENCH_CHECK(ends_of(graph_) == ends_of(file.file), "the calibrated model ", path,
               " has other inputs or outputs than the deployed file, which was not made from it (VerifyOptions::model "
               "names another)");
  const QuantizerComparison found =
      compare_quantizers(graph_, file.own_format ? file.simulated : with_quantizers(file.file));
  quantizers_ = found.quantizers;
  differences_ = found.differences;
  for (const Value* output : graph_.outputs()) outputs_.emplace_back(*output, task);
  run_passes(graph_, inference_passes());
  executor_ = std::make_unique<Executor>(graph_);
}

void SourceCheck::add(const Call& call, const NamedValues& deployed) {
  std::vector<std::string> names;
  for (const Value* output : graph_.outputs()) names.push_back(output->name());
  std::map<std::string, std::vector<at::Tensor>> parts;
  for (const NamedValues& slice : call.slices)
    for (const auto& [name, value] : executor_->run(slice, names)) parts[name].push_back(value.tensor());
  for (std::size_t i = 0; i < names.size(); ++i)
    outputs_[i].add(call.trimmed(deployed.at(names[i]).tensor()), call.trimmed(at::cat(parts.at(names[i]))));
}

void SourceCheck::into(VerifyResult& result) const {
  result.model = path_;
  result.quantizers = quantizers_;
  result.quantizer_differences = differences_;
  for (const OutputComparison& output : outputs_) result.model_outputs.push_back(output.result(result.output_bounds));
}

}  // namespace quench
