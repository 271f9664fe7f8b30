#include "e2e/conformance_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <quench_onnx.pb.h>

#include <filesystem>
#include <fstream>

#include "graph/tensor_types.h"
#include "import/onnx/tensor.h"
#include "ops/convert.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/op.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

// The bounds of ONNX's own backend test; and, for elements near zero that are sums of larger terms, a few
// roundings (float) of the largest element.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7, kRoundings = 4 * 1.1920929e-07;

double absolute_bound(const at::Tensor& expected) {
  const at::Tensor size = expected.abs().nan_to_num(0.0, 0.0, 0.0).max();
  return kAbsolute + kRoundings * size.item<double>();
}

std::string compare_tensors(const RtValue& expected, const RtValue& actual, bool shape_only) {
  if (expected.dtype() != actual.dtype())
    return concat("is ", name_of(actual.dtype()), ", expected ", name_of(expected.dtype()));
  const Dims wanted = dims_of(expected.tensor()), found = dims_of(actual.tensor());
  if (wanted != found) return concat("has the shape ", text_of(found), ", expected ", text_of(wanted));
  if (shape_only || expected.tensor().numel() == 0) return "";
  if (!is_floating(expected.dtype()))
    return at::equal(expected.tensor(), actual.tensor()) ? "" : "has other elements than expected";
  const at::Tensor a = decode(actual).to(at::kDouble), b = decode(expected).to(at::kDouble);
  const at::Tensor close = at::isclose(a, b, kRelative, absolute_bound(b), true);
  if (close.all().item<bool>()) return "";
  const at::Tensor gap = at::where(close, at::zeros_like(a), (a - b).abs());
  return concat("differs by ", gap.max().item<double>(), " in ", gap.ne(0).sum().item<std::int64_t>(), " of ",
                gap.numel(), " elements");
}

std::string compare_values(const RtValue& expected, const RtValue& actual, bool shape_only) {
  if (expected.is_none() || actual.is_none())
    return expected.is_none() == actual.is_none() ? "" : "is empty where a value is expected, or the other way round";
  if (expected.is_tensor() != actual.is_tensor()) return "is a tensor where a sequence is expected, or the reverse";
  if (expected.is_tensor()) return compare_tensors(expected, actual, shape_only);
  if (expected.elements().size() != actual.elements().size())
    return concat("has ", actual.elements().size(), " elements, expected ", expected.elements().size());
  for (std::size_t i = 0; i < expected.elements().size(); ++i) {
    const std::string found = compare_values(expected.elements()[i], actual.elements()[i], shape_only);
    if (!found.empty()) return concat("element ", i, " ", found);
  }
  return "";
}

bool is_random(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (entry_of(*node).traits.random) return true;
    for (const auto& [key, attr] : node->attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr); body && is_random(**body)) return true;
  }
  return false;
}

// Older suites keep bfloat16 tensors as the uint16 of the same bits.
RtValue read_value(const fs::path& path, const TypeInfo& type) {
  const RtValue value = read_onnx_value(path.string(), type);
  const bool is_bfloat16 = value.is_tensor() && value.dtype() == DType::kUint16 && type.dtype == DType::kBfloat16;
  return is_bfloat16 ? RtValue(value.tensor().view(at::kBFloat16)) : value;
}

std::vector<RtValue> read_values(const fs::path& folder, const char* kind, const std::vector<Value*>& values) {
  std::vector<RtValue> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    result.push_back(read_value(folder / concat(kind, "_", i, ".pb"), values[i]->type()));
  return result;
}

// Every value of the run, checked against what the graph says about it.
struct Run {
  NamedValues values;
  std::string wrong_type;
};

std::vector<RtValue> run_recorded(const Graph& graph, const std::vector<RtValue>& inputs, Run& run) {
  Executor executor(graph);
  executor.on_every_value([&](const Value& value, RtValue& result) {
    run.values[value.name()] = result;
    std::string found = compare_type(value.type(), result);
    if (found.empty()) found = compare_contents(value, result);
    if (!found.empty() && run.wrong_type.empty()) run.wrong_type = concat("'", value.name(), "' ", found);
    return Next::kContinue;
  });
  return executor.run(inputs);
}

std::string run_data_set(const Graph& graph, const fs::path& folder, CaseResult& result) {
  Run run;
  const std::vector<RtValue> actual = run_recorded(graph, read_values(folder, "input", graph.inputs()), run);
  const std::vector<RtValue> expected = read_values(folder, "output", graph.outputs());
  // Random results are checked for type and shape alone.
  const bool shape_only = is_random(graph);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::string found = compare_values(expected[i], actual[i], shape_only);
    if (!found.empty()) return concat("output '", graph.outputs()[i]->name(), "' ", found);
  }
  for (const Told told : {Told::kTypes, Told::kShapes, Told::kNumbers, Told::kSymbols})
    if (run.wrong_type.empty())
      run.wrong_type = check_inferred(graph, told, run.values, result.shapes[static_cast<std::size_t>(told)]);
  return run.wrong_type;
}

std::string round_trip(const Graph& graph) {
  ExportOptions options;
  const auto opset = graph.source.opsets.find("");
  if (opset != graph.source.opsets.end()) options.opset = std::max(options.opset, opset->second);
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph, options));
  return to_text(again) == to_text(graph) ? "" : "is another graph after export and import";
}

// Also of files that cannot be imported.
std::int64_t opset_of(const std::string& path) {
  quench_onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  QUENCH_CHECK(model.ParseFromIstream(&file), path, " is no ONNX model");
  for (const auto& import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  return 0;
}

}  // namespace

CaseResult run_conformance_case(const std::string& folder) {
  CaseResult result;
  const std::string path = (fs::path(folder) / "model.onnx").string();
  try {
    result.opset = opset_of(path);
    const Graph graph = import_onnx(path);
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_directory() && result.failure.empty()) result.failure = run_data_set(graph, entry.path(), result);
    if (result.failure.empty()) result.failure = round_trip(graph);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    result.failure = text.substr(0, text.find('\n'));
  }
  return result;
}

}  // namespace quench
