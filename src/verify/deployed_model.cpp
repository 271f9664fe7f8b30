#include "verify/deployed_model.h"

#include <filesystem>
#include <map>

#include "deploy/quantized.h"
#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/verify.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

bool fits_an_array(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kInt8 || dtype == DType::kUint16 || dtype == DType::kInt16;
}

// Behind QuantizeLinear; a range narrower than the type's has a Clip on the codes.
const Node* quantize_behind(const Value& codes) {
  const Node* node = codes.producer();
  if (node && node->op() == "Clip" && node->input(0)) node = node->input(0)->producer();
  return node && node->op() == "QuantizeLinear" ? node : nullptr;
}

// The tensors of codes by the value that was quantized.
std::multimap<std::string, const Value*> code_tensors(const Graph& file) {
  std::multimap<std::string, const Value*> found;
  for (const auto& node : file.nodes()) {
    if (node->op() != "DequantizeLinear" || !node->input(0)) continue;
    const Value& codes = *node->input(0);
    const Node* quantize = quantize_behind(codes);
    if (!quantize || !quantize->input(0)) continue;
    const auto [begin, end] = found.equal_range(quantize->input(0)->name());
    if (std::none_of(begin, end, [&](const auto& entry) { return entry.second == &codes; }))
      found.emplace(quantize->input(0)->name(), &codes);
  }
  return found;
}

void find_taps(DeployedModel& model) {
  const std::multimap<std::string, const Value*> tensors = code_tensors(model.file);
  for (const Node* quantizer : quantizers_of(model.simulated)) {
    const Value& value = *quantizer->input(0);
    if (is_made_of_constants(value)) continue;
    const auto [begin, end] = tensors.equal_range(value.name());
    // A value that is quantized in two ways has two tensors; which is which is not told by its name.
    const bool known = begin != end && std::next(begin) == end && fits_an_array(begin->second->dtype());
    if (known)
      model.taps.push_back({begin->second->name(), quantizer->output().name()});
    else
      model.untapped.push_back(value.name());
  }
}

}  // namespace

std::string deployed_file(const std::string& file_or_folder) {
  if (!fs::is_directory(file_or_folder)) return file_or_folder;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(file_or_folder))
    if (entry.path().string().ends_with("_qdq.onnx")) found.push_back(entry.path().string());
  QUENCH_CHECK(!found.empty(), "there is no deployed Q/DQ model (N_qdq.onnx) in '", file_or_folder,
               "'; 'quench deploy' of a platform whose product is Q/DQ writes one");
  QUENCH_CHECK(found.size() == 1, "there are ", found.size(), " deployed models in '", file_or_folder,
               "'; give the file that is meant");
  return found[0];
}

DeployedModel read_deployed(const std::string& path) {
  DeployedModel model;
  model.path = path;
  model.file = import_model(path);
  const auto opset = model.file.source.opsets.find("");
  model.opset = opset == model.file.source.opsets.end() ? 21 : opset->second;
  model.simulated = model.file;
  run_passes(model.simulated, {"qdq_to_fake_quant"});
  QUENCH_CHECK(!quantizers_of(model.simulated).empty(), "'", path,
               "' has no QuantizeLinear and DequantizeLinear: it is not a deployed Q/DQ model");
  find_taps(model);
  return model;
}

Graph tapped(const DeployedModel& model) {
  Graph graph(model.file);
  for (const Tap& tap : model.taps) {
    Value& codes = graph.value(tap.codes);
    if (!codes.is_graph_output()) graph.add_output(codes);
  }
  return graph;
}

Graph without_fused_quantizers(const Graph& simulated) {
  Graph graph(simulated);
  for (Node* quantizer : quantizers_of(graph)) {
    const Node* conv = quantizer->input(0)->producer();
    const Node* add = only_user(quantizer->output());
    if (!conv || conv->op() != "Conv" || !add || add->op() != "Add" || !only_user(*quantizer->input(0))) continue;
    bypass(graph, *quantizer, *quantizer->input(0));
  }
  return graph;
}

}  // namespace quench
