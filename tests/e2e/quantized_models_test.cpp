// Real models that ONNX Runtime's own tools quantized, in every form that they write, against ONNX Runtime's outputs.
// quantized_models.py makes the files once, beside the program.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "deploy/onnx_checker.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/npz.h"
#include "support/data_file.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

fs::path cache_folder() {
  const char* program = std::getenv("QUENCH_PROGRAM");
  return (program ? fs::path(program).parent_path() : fs::temp_directory_path()) / "quantized_models_1";
}

double average(const at::Tensor& tensor) { return tensor.to(at::kDouble).abs().mean().item<double>(); }
double largest(const at::Tensor& tensor) { return tensor.to(at::kDouble).abs().max().item<double>(); }

// The float model as ONNX Runtime's optimizer writes it: every node rounds a few times, relative to the output's size.
// Quantized: both compute the same codes except where a sum rounded in another order falls to the other side of a tie.
// Such single codes move the output; quantizing, which moves every value by up to half a step, moves it far more. A
// scale, zero point or operator read wrongly moves it as much as that: a quarter is between the two.
double tolerance_of(const std::string& form, const Graph& graph, const std::map<std::string, RtValue>& arrays) {
  const at::Tensor &output = arrays.at("output").tensor(), &unquantized = arrays.at("float").tensor();
  if (form == "optimized")
    return 16.0 * std::numeric_limits<float>::epsilon() * static_cast<double>(graph.nodes().size()) * largest(output);
  return 0.25 * average(output - unquantized);
}

struct File {
  const char *model, *form;
};
void PrintTo(const File& file, std::ostream* out) { *out << file.model << "." << file.form; }

class QuantizedModels : public testing::TestWithParam<File> {
 protected:
  static void SetUpTestSuite() {
    const std::string models = data_file("models");
    std::string why;
    const std::string python = models.empty() ? "" : test_python(why);
    problem = models.empty() ? "the models are not here (set QUENCH_DATA)" : python.empty() ? why : "";
    if (!problem.empty()) return;
    const std::string script = std::string(std::getenv("QUENCH_TEST_DATA")) + "/../e2e/quantized_models.py";
    const CommandResult made = run_command(python + " '" + script + "' '" + fs::path(models).parent_path().string() +
                                           "' '" + cache_folder().string() + "'");
    ASSERT_EQ(made.status, 0) << made.output;
  }
  static inline std::string problem;
};

TEST_P(QuantizedModels, GiveWhatOnnxRuntimeGives) {
  if (!problem.empty()) GTEST_SKIP() << problem;
  const auto [model, form] = GetParam();
  const std::string base = (cache_folder() / model).string() + "." + form;
  const Graph graph = import_model(base + ".onnx");
  const std::map<std::string, RtValue> arrays = read_npz(base + ".npz");
  const at::Tensor &output = arrays.at("output").tensor(), &fused = arrays.at("fused").tensor();
  const at::Tensor actual = Executor(graph).run({arrays.at("input")}).at(0).tensor();
  ASSERT_EQ(actual.sizes(), output.sizes());
  EXPECT_LE(average(actual - output), tolerance_of(form, graph, arrays));
  std::printf("| %s | %s | %.2g | %.2g | %.2g | %.2g | %.2g |\n", model, form, average(actual - output),
              largest(actual - output), average(fused - output), average(output - arrays.at("float").tensor()),
              average(output));
}

std::vector<File> files() {
  std::vector<File> result;
  for (const char* model : {"resnet20", "mobilenetv2", "stories260K"})
    for (const char* form : {"qoperator", "qdq", "qdq16", "dynamic", "optimized"}) result.push_back({model, form});
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedModels, testing::ValuesIn(files()),
                         [](const auto& test) { return std::string(test.param.model) + "_" + test.param.form; });

}  // namespace
}  // namespace quench
