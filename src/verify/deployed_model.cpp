#include "verify/deployed_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "convert/quantized.h"
#include "core/output_folder.h"
#include "deploy/file_endings.h"
#include "deploy/onnx/lowest_opset.h"
#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/verify.h"
#include "verify/round_biases.h"

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

// The name that a value of the file has in the simulation, where quantizers replace the pairs: the result of a pair on
// v has the name of its quantizer there, but an output keeps its own.
std::string simulated_name(const Value& value) {
  const Node* node = value.producer();
  if (!node || node->op() != "DequantizeLinear" || !node->input(0) || value.is_graph_output()) return value.name();
  const Node* quantize = quantize_behind(*node->input(0));
  return quantize && quantize->input(0) ? quantizer_name(simulated_name(*quantize->input(0))) : value.name();
}

// The tensors of codes by the value that was quantized.
std::multimap<std::string, const Value*> code_tensors(const Graph& file) {
  std::multimap<std::string, const Value*> found;
  for (const auto& node : file.nodes()) {
    if (node->op() != "DequantizeLinear" || !node->input(0)) continue;
    const Value& codes = *node->input(0);
    const Node* quantize = quantize_behind(codes);
    if (!quantize || !quantize->input(0)) continue;
    const std::string name = simulated_name(*quantize->input(0));
    const auto [begin, end] = found.equal_range(name);
    if (std::none_of(begin, end, [&](const auto& entry) { return entry.second == &codes; }))
      found.emplace(name, &codes);
  }
  return found;
}

void find_taps(DeployedModel& model) {
  const std::multimap<std::string, const Value*> tensors = code_tensors(model.file);
  for (const Node* quantizer : quantizers_of(model.simulated)) {
    const Value& value = *quantizer->input(0);
    if (is_made_of_constants(value)) continue;
    const auto [begin, end] = tensors.equal_range(value.name());
    // A value that is quantized in two ways has two tensors; its name does not tell which is which.
    const bool known = begin != end && std::next(begin) == end && fits_an_array(begin->second->dtype());
    if (known)
      model.taps.push_back({begin->second->name(), quantizer->output().name()});
    else
      model.untapped.push_back(value.name());
  }
}

// Between a Conv and the Add that alone reads it.
Node* fused_quantizer(const Value& operand) {
  Node* quantizer = operand.producer();
  if (!is_quantizer(quantizer) || !only_user(operand) || !only_user(*quantizer->input(0))) return nullptr;
  const Node* conv = quantizer->input(0)->producer();
  return conv && conv->op() == "Conv" && fake_quant_spec(*quantizer).scheme.per_tensor() ? quantizer : nullptr;
}

// Replaces the quantizer by a Clip to its range.
void clip_only(Graph& graph, Node& quantizer) {
  Value& source = *quantizer.input(0);
  const QType type = qtype_of(quantizer);
  const auto bound = [&](int code, const char* which) {
    const float value = static_cast<float>(code - type.params.zero_point[0]) * type.params.scale[0];
    return &graph.add_constant(graph.unique_name(source.name() + which), at::full({}, value));
  };
  Node& clip = graph.insert_before(quantizer, "Clip", graph.unique_name(source.name() + "_clipped"),
                                   {&source, bound(type.scheme.qmin(), "_min"), bound(type.scheme.qmax(), "_max")});
  clip.output().set_type(source.type());
  bypass(graph, quantizer, clip.output());
}

// What the folder's list names, or all that is there.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files = own_files(folder);
  for (std::string& file : files) file = (fs::path(folder) / file).string();
  std::erase_if(files, [&](const std::string& file) { return fs::path(file).parent_path() != fs::path(folder); });
  if (!files.empty()) return files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Whether a folder has a Q/DQ file of this name; "": of any.
bool has_deployed(const fs::path& folder, const std::string& name) {
  if (!name.empty()) return fs::exists(folder / (name + kQdqEnding));
  const fs::directory_iterator files(folder);
  return std::any_of(begin(files), end(files),
                     [](const fs::path& path) { return path.string().ends_with(kQdqEnding); });
}

// "N.quench.onnx", "N_quantizers.onnx" -> "N"
std::string base_name(const fs::path& file) {
  std::string name = file.filename().string();
  for (const char* ending : {".onnx", ".quench", "_quantizers"})
    if (name.ends_with(ending)) name.resize(name.size() - std::string(ending).size());
  return name;
}

DeployedModel read_own_format(const std::string& path, const RuntimeEntry& runtime) {
  DeployedModel model;
  model.own_format = true;
  model.path = path;
  model.file = import_model(path);
  model.simulated = runtime.read(path);
  QUENCH_CHECK(!quantizers_of(model.simulated).empty(), "nothing in '", path, "' is quantized");
  return model;
}

}  // namespace

std::string or_did_you_mean(const std::string& file_or_folder) {
  const auto did_you_mean = [](const fs::path& path) { return concat("; did you mean '", path.string(), "'?"); };
  const fs::path given = fs::path(file_or_folder) / "";  // with a slash at its end
  const bool is_folder = fs::is_directory(given);
  const fs::path folder = is_folder ? given.parent_path() : given.parent_path().parent_path();
  const std::string name = is_folder ? "" : base_name(given.parent_path());
  if (!is_folder && has_deployed(folder, name)) return did_you_mean(folder / (name + kQdqEnding));
  std::vector<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder))
    if (entry.is_directory() && has_deployed(entry.path(), name)) inside.push_back(folder / entry.path().filename());
  return inside.size() == 1 ? did_you_mean(inside[0]) : "";
}

std::vector<std::string> deployed_files(const std::string& file_or_folder, const std::string& runtime) {
  if (!fs::is_directory(file_or_folder)) return {file_or_folder};
  const RuntimeEntry& entry = RuntimeRegistry::instance().get(runtime);
  std::vector<std::string> found, models;
  for (const std::string& path : files_of(file_or_folder)) {
    if (path.ends_with(".onnx") && !path.ends_with(kCalibratedEnding)) models.push_back(path);
    if (path.ends_with(entry.ending)) found.push_back(path);
  }
  QUENCH_CHECK(found.size() <= 1, "there are ", found.size(), " deployed models in '", file_or_folder,
               "'; name the file");
  if (found.empty() && models.size() == 1 && !entry.read) found = models;  // someone else's
  if (entry.reads_fake_quantize)
    for (const std::string& path : models)
      if (path.ends_with(kStrippedEnding) && !quantizers_of(import_model(path)).empty()) found.push_back(path);
  if (!found.empty()) return found;
  const std::string meant = or_did_you_mean(file_or_folder);
  const std::string who = entry.read ? "for it" : "whose product is Q/DQ";
  fail("there is no deployed model that runtime '", runtime, "' reads in '", file_or_folder, "' (N", entry.ending, ")",
       meant.empty() ? concat("; 'quench deploy' of a platform ", who, " writes one") : meant);
}

DeployedModel read_deployed(const std::string& path, const RuntimeEntry& runtime) {
  if (runtime.read) return read_own_format(path, runtime);
  DeployedModel model;
  model.path = path;
  model.file = import_model(path);
  // In third-party files, scales may come through Identity and Cast.
  run_passes(model.file, {"infer_shapes", "fold_constants", "eliminate_dropout", "eliminate_identity"});
  const auto opset = model.file.source.opsets.find("");
  model.opset = opset == model.file.source.opsets.end() ? 21 : opset->second;
  model.simulated = model.file;
  run_passes(model.simulated, {"qdq_to_fake_quant"});
  QUENCH_CHECK(!quantizers_of(model.simulated).empty(), "'", path,
               "' has no QuantizeLinear and DequantizeLinear (nor FakeQuantize): it is not a deployed Q/DQ model; ",
               "'quench deploy' writes one", or_did_you_mean(path));
  if (runtime.rounds_biases) round_biases(model.simulated);
  find_taps(model);
  return model;
}

void write_tapped(const DeployedModel& model, const std::string& path) {
  Graph graph(model.file);
  for (const Tap& tap : model.taps) {
    Value& codes = graph.value(tap.codes);
    if (!codes.is_graph_output()) graph.add_output(codes);
  }
  ExportOptions options;
  options.opset = lowest_opset(graph, model.opset, 0);
  export_onnx(graph, path, options);
}

Graph without_fused_rounding(const Graph& simulated) {
  Graph graph(simulated);
  std::vector<Node*> adds;
  for (const auto& node : graph.nodes())
    if (node->op() == "Add") adds.push_back(node.get());
  for (const Node* add : adds)
    for (const int slot : {0, 1})
      if (Node* quantizer = fused_quantizer(*add->input(slot))) {
        clip_only(graph, *quantizer);
        break;  // one of the two sides is computed with the Add, the first that can be
      }
  return graph;
}

}  // namespace quench
