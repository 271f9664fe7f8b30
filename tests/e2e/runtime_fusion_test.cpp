// What real runtimes make of the deployed files: every layer with weights must become an integer kernel. The runtimes'
// own graphs, after their optimizers, are counted.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "calibrate/small_graph.h"
#include "deploy/onnx_checker.h"
#include "quench/calibrate.h"
#include "quench/deploy.h"
#include "quench/import.h"
#include "quench/prepare.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"
#include "support/data_file.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

// "kernels in integers" "layers in float", one line per file.
const char* const kOnnxRuntime = R"(
import sys, collections, onnx, onnxruntime
for path in sys.argv[1:]:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = path + ".optimized", 3
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    count = collections.Counter(node.op_type for node in onnx.load(path + ".optimized").graph.node)
    print(sum(count[op] for op in ("QLinearConv", "QGemm", "QLinearMatMul")),
          sum(count[op] for op in ("Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul")))
)";

const char* const kOpenVino = R"(
import os, sys
sys.path.insert(0, sys.argv[1])
import runner
runner.avoid_cpu_quirks()
sys.path.pop(0)
import openvino
core = openvino.Core()
for path in sys.argv[2:]:
    model = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).get_runtime_model()
    text = lambda op, key: str(getattr(op.get_rt_info()[key], "value", op.get_rt_info()[key]))
    types = [text(op, "runtimePrecision") for op in model.get_ordered_ops()
             if text(op, "layerType") in ("Convolution", "FullyConnected")]
    print(sum("8" in t for t in types), sum("8" not in t for t in types))
)";

struct Kernels {
  int integer = 0, floating = 0;
};

class RuntimeFusion : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // Of a network of small images; weights are random, which changes no fusion.
  static Graph zoo(const std::string& name) {
    const ZooEntry& entry = ZooRegistry::instance().get(name);
    return from_module(make_zoo_model(name, {.seed = 1}), {at::randn({1, entry.in_channels, 64, 64})});
  }

  static int layers(const Graph& graph) {
    int found = 0;
    for (const auto& node : graph.nodes()) found += node->op() == "Conv" || node->op() == "Gemm" ? 1 : 0;
    return found;
  }

  // Quantized for the platform and written; gives the path of its Q/DQ (or other) file.
  std::string deployed(const Graph& graph, const std::string& platform, const std::string& ending, at::IntArrayRef item,
                       const QuantConfig& config = {}) {
    QuantizedModel prepared = prepare_by_platform(graph, platform, config);
    std::vector<std::int64_t> sizes = {2};
    sizes.insert(sizes.end(), item.begin(), item.end());
    calibrate(prepared, TensorData(at::randn(sizes)), {});
    DeployOptions options;
    options.name = "net";
    write_deployment(deploy(prepared, options), folder_.string(), true);
    return (folder_ / ("net" + ending)).string();
  }

  static std::string python_for(const std::string& runtime, std::string& why) {
    const CommandResult made = run_command(root() + "/tools/test-venv " + runtime);
    why = made.output;
    return made.status == 0 ? made.output.substr(0, made.output.find('\n')) : "";
  }
  static std::string root() { return fs::path(std::getenv("QUENCH_TEST_DATA")).parent_path().parent_path().string(); }

  Kernels count(const std::string& python, const char* script, const std::string& arguments) {
    const fs::path file = folder_ / "count.py";
    std::ofstream(file) << script;
    const CommandResult run = run_command(python + " " + file.string() + " " + arguments);
    EXPECT_EQ(run.status, 0) << run.output;
    std::istringstream words(run.output);
    Kernels kernels;
    words >> kernels.integer >> kernels.floating;
    return kernels;
  }

  void expect_integer_kernels(const Graph& graph, at::IntArrayRef item) {
    std::string why;
    const std::string python = python_for("onnxruntime", why);
    if (python.empty()) GTEST_SKIP() << why;
    const Kernels found = count(python, kOnnxRuntime, deployed(graph, "onnxruntime", "_qdq.onnx", item));
    EXPECT_EQ(found.integer, layers(graph));
    EXPECT_EQ(found.floating, 0);
  }

  fs::path folder_ = fs::temp_directory_path() / concat("quench_fusion_", ::getpid());
};

TEST_F(RuntimeFusion, OnnxRuntimeResNet18) { expect_integer_kernels(zoo("resnet18"), {3, 64, 64}); }
TEST_F(RuntimeFusion, OnnxRuntimeMobileNetV2) { expect_integer_kernels(zoo("mobilenet_v2"), {3, 64, 64}); }

TEST_F(RuntimeFusion, OnnxRuntimeRealModels) {
  const std::string cifar = data_file("models/resnet20_cifar10_bn.onnx");
  if (cifar.empty()) GTEST_SKIP() << "the real models are not in the data folder (QUENCH_DATA)";
  expect_integer_kernels(import_model(cifar), {3, 32, 32});
  expect_integer_kernels(import_model(data_file("models/mobilenetv2_imagenet.onnx")), {3, 224, 224});
  expect_integer_kernels(import_model(data_file("models/squeezenet1.1_imagenet.onnx")), {3, 224, 224});
}

// What float_kernel_notes() says of platform onnxruntime.
TEST_F(RuntimeFusion, OnnxRuntimeHasNoKernelsForOtherBits) {
  std::string why;
  const std::string python = python_for("onnxruntime", why);
  if (python.empty()) GTEST_SKIP() << why;
  const Graph graph = zoo("resnet18");
  const auto kernels = [&](int weight_bits, int activation_bits) {
    QuantConfig config;
    config.weight.bits = weight_bits;
    config.activation.bits = activation_bits;
    return count(python, kOnnxRuntime, deployed(graph, "onnxruntime", "_qdq.onnx", {3, 64, 64}, config));
  };
  EXPECT_EQ(kernels(5, 8).integer, layers(graph));
  EXPECT_EQ(kernels(4, 8).integer, 0);
  EXPECT_EQ(kernels(4, 8).floating, layers(graph));
  EXPECT_EQ(kernels(8, 16).integer, 0);
  EXPECT_EQ(kernels(8, 16).floating, layers(graph));
}

TEST_F(RuntimeFusion, OpenVinoComputesInIntegers) {
  std::string why;
  const std::string python = python_for("openvino", why);
  if (python.empty()) GTEST_SKIP() << why;
  const std::string runners = root() + "/tools/runners ";
  const Graph graph = zoo("resnet18");
  for (const auto& [platform, ending] :
       {std::pair("onnxruntime", "_qdq.onnx"), std::pair("openvino", "_deploy_model.onnx")}) {
    const Kernels found = count(python, kOpenVino, runners + deployed(graph, platform, ending, {3, 64, 64}));
    EXPECT_EQ(found.integer, layers(graph)) << platform;
    EXPECT_EQ(found.floating, 0) << platform;
  }
}

}  // namespace
}  // namespace quench
