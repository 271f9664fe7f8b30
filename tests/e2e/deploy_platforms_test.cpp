// Every platform, on two networks: files that can be read again, or a refusal that says why.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/tensor_types.h"
#include "platforms/gated_graph.h"
#include "quench/calibrate.h"
#include "quench/deploy.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"
#include "support/describe.h"

namespace quench {
namespace {

// Random weights: what is asked is whether the files can be made, not how good they are.
const Graph& network(const std::string& name) {
  static std::map<std::string, Graph> graphs;
  const auto found = graphs.find(name);
  if (found != graphs.end()) return found->second;
  ModuleImportOptions options;
  options.check = false;
  at::manual_seed(1);
  Graph graph = from_module(make_zoo_model(name), {at::zeros({1, 3, 64, 64})}, options);
  run_passes(graph, cleanup_passes());
  return graphs.emplace(name, std::move(graph)).first->second;
}

class TwoImages : public Dataset {
 public:
  std::int64_t size() const override { return 2; }
  Task task() const override { return Task::kNone; }
  Sample get(std::int64_t index) const override { return {images_[index], -1, std::to_string(index), -1}; }

 private:
  at::Tensor images_ = at::randn({2, 3, 64, 64});
};

struct Job {
  std::string platform, model;
};

class EveryTarget : public testing::TestWithParam<Job> {
 protected:
  static QuantizedModel calibrated() {
    QuantizedModel prepared = prepare(network(GetParam().model), settings_for(GetParam().platform));
    calibrate(prepared, TwoImages(), {});
    return prepared;
  }
};

bool has_op_of(const Graph& graph, const std::string& domain) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const auto& node) { return node->op().starts_with(domain + "."); });
}

// Operators of other vendors' domains are read to be inspected, not run.
Graph read_back(const DeployFile& file) {
  ImportOptions options;
  options.allow_unsupported = has_op_of(file.model, "org.openvinotoolkit") || has_op_of(file.model, "com.microsoft");
  return import_onnx_bytes(export_onnx_bytes(file.model, {.opset = file.opset}), "", options);
}

// Names of inputs and outputs, and the batch that may be any, are the float model's.
void check_model(const DeployFile& file, const Graph& before) {
  SCOPED_TRACE(file.name);
  const Graph again = read_back(file);
  ASSERT_EQ(again.inputs().size(), before.inputs().size());
  EXPECT_EQ(again.inputs()[0]->name(), before.inputs()[0]->name());
  EXPECT_EQ(again.inputs()[0]->type().text(), before.inputs()[0]->type().text());
  ASSERT_EQ(again.outputs().size(), 1U);
  EXPECT_EQ(again.outputs()[0]->name(), before.outputs()[0]->name());
}

// N_quantizers.onnx with vendors' quantizers is the whole simulation: weights that lie on their grids stay there,
// activations have the same quantizers. QuantizeLinear and operators on codes may round differently near ties.
void check_reference(const DeployFile& file, const Graph& quantized) {
  ASSERT_EQ(file.name, "net_quantizers.onnx");
  if (!has_op_of(file.model, "vendor")) return;
  const Graph again = read_back(file);
  const RtValue x(at::randn({1, 3, 64, 64}));
  EXPECT_TRUE(bit_equal(Executor(again).run({x})[0].tensor(), Executor(quantized).run({x})[0].tensor()));
}

// Beside a file of ranges the model holds the quantized weights, and nothing else is quantized.
void check_stripped(const DeployFile& file, const Graph& quantized) {
  Graph weights_only = quantized;
  set_state(weights_only, Role::kActivation, {});
  const Graph again = read_back(file);
  const RtValue x(at::randn({1, 3, 64, 64}));
  EXPECT_TRUE(bit_equal(Executor(again).run({x})[0].tensor(), Executor(weights_only).run({x})[0].tensor()));
}

bool has_range_file(const std::string& platform) {
  static const std::set<std::string> products = {"tensorrt", "snpe", "ppl",     "ppl_cuda",
                                                 "vitis",    "nnie", "tengine", "stpu"};
  return products.contains(find_platform(platform).product);
}

std::string refusal_of(const std::string& platform) {
  const std::string product = find_platform(platform).product;
  return product.empty() ? "has no target of its own" : "";
}

TEST_P(EveryTarget, DeploysOrSaysWhyNot) {
  const QuantizedModel model = calibrated();
  DeployOptions options;
  options.name = "net";
  const std::string reason = refusal_of(GetParam().platform);
  if (!reason.empty()) {
    const std::string message = message_of([&] { deploy(model, options); });
    EXPECT_NE(message.find(reason), std::string::npos) << message;
    return;
  }
  const Deployment deployment = deploy(model, options);
  check_reference(deployment.files.at(0), model.graph);
  if (has_range_file(GetParam().platform)) check_stripped(deployment.files.at(1), model.graph);
  for (const DeployFile& file : deployment.files)
    if (file.is_model()) check_model(file, network(GetParam().model));
}

std::vector<Job> all_jobs() {
  std::vector<Job> jobs;
  for (const std::string& platform : PlatformRegistry::instance().names())
    for (const char* model : {"resnet18", "mobilenet_v2", "resnet20_cifar"}) jobs.push_back({platform, model});
  return jobs;
}

INSTANTIATE_TEST_SUITE_P(All, EveryTarget, testing::ValuesIn(all_jobs()),
                         [](const auto& one) { return one.param.platform + "_" + one.param.model; });

}  // namespace
}  // namespace quench
