// Exporters that are wrong in one way each. Once a bug: one activation scale times 12 in a file of tensorrt_qdq passed.
#include "deploy/export_check.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "convert/ready.h"
#include "deploy/deployed.h"
#include "deploy/quantizer_differences.h"
#include "quench/executor.h"
#include "quench/platform.h"

namespace quench {
namespace {

// What the check says when `change` was made to the file of this name.
std::string complaint(const std::string& platform, const std::string& file, const std::function<void(Graph&)>& change) {
  const Graph graph = calibrated_graph(platform);
  Deployment deployment = deployed(graph);
  for (DeployFile& one : deployment.files)
    if (one.name == file) change(one.model);
  try {
    check_export(ready_for_deployment(quantized_model_of(graph)), nullptr, deployment);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

void multiply(Graph& graph, const std::string& constant, double factor) {
  Value& value = graph.value(constant);
  graph.set_tensor(value, (value.tensor() * factor).to(value.tensor().scalar_type()));
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(ExportCheck, AScaleThatIsNotTheModels) {
  for (const char* platform : {"tensorrt_qdq", "onnxruntime"}) {
    const std::string text =
        complaint(platform, "net_qdq.onnx", [](Graph& graph) { multiply(graph, "relu1_scale", 12); });
    EXPECT_SAYS(text, "'relu1' has the scale ");
    EXPECT_SAYS(text, "in net_qdq.onnx, read back and compared with the model");
  }
  EXPECT_EQ(complaint("tensorrt_qdq", "net_qdq.onnx", [](Graph&) {}), "");
}

TEST(ExportCheck, ARangeOfOpenvinosFakeQuantize) {
  const auto widened = [](Graph& graph) {
    for (const char* end : {"input_max_x", "output_max_x"}) multiply(graph, end, 1.01);
    for (const char* end : {"input_min_x", "output_min_x"}) multiply(graph, end, 1.01);
  };
  EXPECT_SAYS(complaint("openvino", "net_deploy_model.onnx", widened), "'x' has the scale ");
}

TEST(ExportCheck, AZeroPoint) {
  const std::string text = complaint("onnxruntime", "net_qdq.onnx", [](Graph& graph) {
    Value& zero = graph.value("x_zero_point");
    graph.set_tensor(zero, zero.tensor() + 1);
  });
  EXPECT_SAYS(text, "'x' spans ");
}

TEST(ExportCheck, CodesOfAWeight) {
  const std::string text = complaint("onnxruntime", "net_qdq.onnx", [](Graph& graph) {
    Value& codes = graph.value("w2_quantized");
    at::Tensor other = codes.tensor().clone();
    other.flatten()[3] += other.flatten()[3].item<int>() > 0 ? -1 : 1;
    graph.set_tensor(codes, other);
  });
  EXPECT_SAYS(text, "'w2' differs in 1 of 144 elements");
}

TEST(ExportCheck, AQuantizerThatIsMissing) {
  const std::string text = complaint("tensorrt_qdq", "net_qdq.onnx", [](Graph& graph) {
    for (const auto& node : graph.nodes())
      if (node->op() == "QuantizeLinear" && node->input(0)->name() == "relu1") {
        Node* dequantize = node->output().uses()[0].node;
        graph.replace_uses(dequantize->output(), *node->input(0));
        break;
      }
  });
  EXPECT_SAYS(text, "'relu1' is quantized, but not in the file");
}

// The quantizers are right; the network is not.
// y = If(flag, x + w, x - w), whose branches hold a weight each.
Graph with_branches(double weight) {
  Graph graph;
  const TypeInfo type = TypeInfo::tensor(DType::kFloat, {2, 3});
  Value& flag = graph.add_input("flag", TypeInfo::tensor(DType::kBool, {}));
  Value& x = graph.add_input("x", type);
  const auto branch = [&](const char* op) {
    auto body = std::make_shared<Graph>();
    Value& inner = body->add_input("x", type);
    Value& w = body->add_constant("w", at::full({3}, op[0] == 'A' ? 1.0 : weight));
    body->add_output(body->add(op, "result", {&inner, &w}).output());
    return body;
  };
  Node& choice = graph.add("If", "choice", {&flag, &x});
  choice.attrs["then_branch"] = branch("Add");
  choice.attrs["else_branch"] = branch("Sub");
  graph.add_output(choice.output());
  return graph;
}

TEST(ExportCheck, AWeightInsideABranch) {
  EXPECT_TRUE(compare_quantizers(with_branches(2), with_branches(2)).differences.empty());
  const std::vector<std::string> found = compare_quantizers(with_branches(2), with_branches(2.5)).differences;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], "'w' differs in 3 of 3 elements, at most by 0.5 (inside node 'choice' (If))");
}

// y = x + c
Graph with_constant(const at::Tensor& c) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}));
  graph.add_output(graph.add("Add", "sum", {&x, &graph.add_constant("c", c)}).output());
  return graph;
}

TEST(ExportCheck, ConstantsThatAreNotFinite) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto differences = [](const at::Tensor& model, const at::Tensor& file) {
    return compare_quantizers(with_constant(model), with_constant(file)).differences.size();
  };
  const at::Tensor mask = at::tensor({1.0F, -inf, nan});
  EXPECT_EQ(differences(mask, mask.clone()), 0U);
  EXPECT_EQ(differences(mask, at::tensor({2.0F, -inf, nan})), 1U);
  EXPECT_EQ(differences(at::tensor({1.0F, 2.0F, 3.0F}), at::tensor({1.0F, 2.0F, nan})), 1U);
  EXPECT_EQ(differences(at::tensor({1.0F, 2.0F, 3.0F}), at::tensor({1.0F, 2.0F, inf})), 1U);
}

// Once a bug: a channel without weights (its gamma is near 0) has the least scale there is, and elements of all other
// channels were held to its steps.
TEST(ExportCheck, ElementsAreHeldToTheStepsOfTheirChannel) {
  Graph model = calibrated_graph("mmrazor_openvino");
  const Value &weight = model.value("w1"), &scale = model.value("w1.fq.scale");
  const at::Tensor scales = at::tensor({1.0F / (1 << 23), 0.5F, 0.5F, 0.5F});
  model.set_tensor(model.value("w1.fq.scale"), scales.reshape(scale.tensor().sizes()));
  model.set_tensor(model.value("w1"), at::ones_like(weight.tensor()) * scales.reshape({4, 1, 1, 1}));
  const at::Tensor given = Executor(model).run({}, {"w1.fq"}).at("w1.fq").tensor();
  const auto differences = [&](int channel, double more) {
    Graph file = model.clone();
    at::Tensor other = given.clone();
    other[channel].add_(more);
    file.replace_uses(file.value("w1.fq"), file.add_constant("w1_as_it_is", other));
    return compare_quantizers(model, file).differences.size();
  };
  EXPECT_EQ(differences(1, 1e-3), 0U);
  EXPECT_EQ(differences(1, 1e-2), 1U);
  EXPECT_EQ(differences(0, 1e-8), 1U);
}

TEST(ExportCheck, AnotherNetwork) {
  const auto other = [](Graph& graph) { graph.set_op(*graph.find_node("pool"), "GlobalAveragePool"); };
  for (const char* file : {"net_qdq.onnx", "net_quantizers.onnx"})
    EXPECT_SAYS(complaint("onnxruntime", file, other), "the output 'pool' is off by ");
  EXPECT_SAYS(complaint("tensorrt", "net_deploy_model.onnx", other), "the output 'pool' is off by ");
}

TEST(ExportCheck, SizesThatNothingTellsAreFoundOrNoted) {
  const Graph graph = calibrated_graph("onnxruntime");
  EXPECT_TRUE(deployed(graph).notes.empty());
}

// Every platform's own files pass, and their quantizers are really compared.
TEST(ExportCheck, FindsNothingWrongWithAnyPlatform) {
  for (const std::string& platform : PlatformRegistry::instance().names()) {
    if (find_platform(platform).product.empty() || find_platform(platform).product == "torch") continue;
    if (find_platform(platform).user_schemes) continue;
    SCOPED_TRACE(platform);
    const Graph graph = calibrated_graph(platform);
    const Graph ready = ready_for_deployment(quantized_model_of(graph));
    const Deployment deployment = deployed(graph);
    const QuantizerComparison found = compare_quantizers(ready, with_quantizers(read_back(deployment.files[0])));
    EXPECT_GT(found.quantizers, 3);
  }
}

}  // namespace
}  // namespace quench
