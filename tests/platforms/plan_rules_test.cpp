// What a plan refuses, and what a rule of the user's may not do unnoticed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "platforms/zoo_graph.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/prepare.h"
#include "support/expect_error.h"

namespace quench {
namespace {

template <typename Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

QuantConfig for_platform(const std::string& platform) {
  QuantConfig config;
  config.platform = platform;
  return config;
}

// MaxPool's output has the scale of the stem's: a rule for it alone cannot apply.
TEST(PlanRules, ARuleOnWhatSharesAScaleIsRefused) {
  QuantConfig config = for_platform("onnxruntime");
  LayerRule rule;
  rule.match = "layer1.0.conv1";
  rule.activation.bits = 4;
  config.layers.push_back(rule);
  const std::string message = message_of([&] { make_plan(zoo_graph("resnet18"), config); });
  EXPECT_TRUE(contains(message, "cannot apply: it has the scale of")) << message;
}

TEST(PlanRules, EveryPartOfARuleMustChangeSomething) {
  QuantConfig config = for_platform("ncnn");
  LayerRule rule;
  rule.match = "fc";
  rule.weight.observer = "mse";
  rule.output.observer = "mse";  // ncnn quantizes no outputs
  config.layers.push_back(rule);
  const std::string message = message_of([&] { make_plan(zoo_graph("resnet18"), config); });
  EXPECT_TRUE(contains(message, "changes no output")) << message;
}

std::string refused(const Graph& graph, const std::string& platform, const LayerRule& rule) {
  QuantConfig config = for_platform(platform);
  config.layers.push_back(rule);
  return message_of([&] { make_plan(graph, config); });
}

// What the platform changes last must not silently undo a rule.
TEST(PlanRules, ARuleThatThePlatformWouldOverrideIsAnErrorThatNamesTheLayer) {
  LayerRule rule;
  rule.match = "fc";
  rule.weight.granularity = Granularity::kChannel;
  const std::string gemm = refused(zoo_graph("resnet18"), "onnxruntime", rule);
  EXPECT_TRUE(contains(gemm, "cannot run granularity channel, as a rule asks")) << gemm;
  EXPECT_TRUE(contains(gemm, "weight 'fc.weight' of node")) << gemm;
  EXPECT_TRUE(contains(gemm, "keeps a Gemm with scales per channel in float")) << gemm;

  Graph grouped = parse_graph(R"(graph "g" {
    input %x : float[1, 4, 2, 2]
    const %w : float[4, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0}
    %conv = Conv "conv" (%x, %w) {group = 2}
    output %conv
  })");
  infer_shapes(grouped);
  rule.match = "conv";
  const std::string conv = refused(grouped, "ncnn", rule);
  EXPECT_TRUE(contains(conv, "granularity channel, as a rule asks")) << conv;
  EXPECT_TRUE(contains(conv, "'conv'")) << conv;
  rule.weight.granularity = Granularity::kTensor;
  EXPECT_EQ(refused(grouped, "ncnn", rule), "no error");
}

TEST(PlanRules, ARuleThatThePlatformCanHonourBeatsItsOwnLastWord) {
  LayerRule rule;
  rule.match = "relu";
  rule.output.is_signed = true;  // openvino makes what a Relu writes unsigned
  QuantConfig config = for_platform("openvino");
  const auto graph = zoo_graph("resnet18");
  const QuantPlan usual = make_plan(graph, config);
  const auto relu = std::find_if(usual.entries.begin(), usual.entries.end(), [](const PlanEntry& entry) {
    return entry.role == Role::kActivation && !entry.scheme.is_signed();
  });
  ASSERT_NE(relu, usual.entries.end());
  rule.match = "=" + graph.find_value(relu->value)->producer()->name();
  config.layers.push_back(rule);
  EXPECT_TRUE(make_plan(graph, config).find(relu->value)->scheme.is_signed());
}

Graph twins() {
  return parse_graph(R"(graph "g" {
    input %x : float["N", 2]
    const %w : float[2, 2] = {1.0, 2.0, 3.0, 4.0}
    const %b : float[2] = {0.5, 0.5}
    %first = Gemm "first" (%x, %w, %b) {transB = 1} : float["N", 2]
    %second = Gemm "second" (%first, %w, %b) {transB = 1} : float["N", 2]
    output %second
  })");
}

TEST(PlanRules, LayersThatShareAWeightMustAgree) {
  QuantConfig config = for_platform("onnxruntime");
  EXPECT_EQ(make_plan(twins(), config).count(Role::kWeight), 1);
  LayerRule rule;
  rule.match = "second";
  rule.keep_float = true;
  config.layers.push_back(rule);
  const std::string message = message_of([&] { make_plan(twins(), config); });
  EXPECT_TRUE(contains(message, "'second' is to stay float, but shares its weight 'w'")) << message;
}

TEST(PlanRules, APlanDoesNotDifferFromItself) {
  const QuantPlan plan = make_plan(twins(), for_platform("onnxruntime"));
  EXPECT_EQ(plan.count(Role::kBias), 2);  // one bias, two layers, two scales
  EXPECT_TRUE(diff_plans(plan, plan).empty());
}

TEST(PlanRules, APlanFromElsewhereIsHeldAgainstThePlatform) {
  const Graph& graph = zoo_graph("resnet18");
  QuantPlan plan = make_plan(graph, for_platform("onnxruntime"));
  check_plan(graph, plan);
  for (PlanEntry& entry : plan.entries)
    if (entry.value == "fc.weight") entry.scheme = QScheme::parse("int16 symmetric tensor");
  const std::string message = message_of([&] { check_plan(graph, plan); });
  EXPECT_TRUE(contains(message, "cannot run 16-bit weights")) << message;
  EXPECT_TRUE(contains(message, "in the plan's entry of 'fc.weight'")) << message;
}

TEST(PlanRules, ALayerCannotBeFloatAndQuantized) {
  QuantConfig config = for_platform("onnxruntime");
  config.layers.emplace_back();
  config.layers[0].match = "fc";
  config.layers[0].keep_float = true;
  config.layers[0].weight.bits = 4;
  EXPECT_ERROR(make_plan(zoo_graph("resnet18"), config), "{match: fc}", "leaves its layers in float and also");
}

TEST(PlanRules, AnOperatorThatDoesNotExistIsNamed) {
  for (auto list : {&QuantConfig::excluded_ops, &QuantConfig::additional_ops}) {
    QuantConfig config = for_platform("onnxruntime");
    config.*list = {"Covn"};
    EXPECT_ERROR(make_plan(zoo_graph("resnet18"), config), "unknown operator 'Covn'", "did you mean 'Conv'?");
  }
  QuantConfig config = for_platform("onnxruntime");
  config.fuse_patterns = {{"Conv", "Rleu"}};
  EXPECT_ERROR(make_plan(zoo_graph("resnet18"), config), "unknown operator 'Rleu'", "did you mean 'Relu'?");
}

TEST(PlanRules, AListMustBeAList) {
  const std::string message =
      message_of([] { plan_from_yaml("version: 1\nplatform: tensorrt\nquantized: nonsense\n", "p.yaml"); });
  EXPECT_TRUE(contains(message, "'quantized' must be a list")) << message;
}

// A table that is looked up and multiplied with: only the product is quantized.
TEST(PlanRules, AnotherReaderOfAWeightReadsItAsItIs) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float["N", 2]
    input %i : int64["M"]
    const %w : float[2, 2] = {1.0, 2.0, 3.0, 4.0}
    %y = Gemm "y" (%x, %w) : float["N", 2]
    %rows = Gather "rows" (%w, %i) : float["M", 2]
    output %y
    output %rows
  })");
  const QuantPlan plan = make_plan(graph, for_platform("onnxruntime"));
  graph = insert_quantizers(graph, plan).graph;
  EXPECT_EQ(graph.find_node("rows")->input(0)->name(), "w");
  EXPECT_EQ(graph.find_node("y")->input(1)->producer()->op(), "quench.FakeQuant");
}

// No target has such a layer: the plan says so, on those that quantize products.
TEST(PlanRules, AWeightOnTheLeftOfAProductIsListed) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 8, 4}));
  Value& weight = graph.add_constant("w", at::randn({6, 8}));
  graph.add_output(graph.add("MatMul", "product", {&weight, &x}).output());
  infer_shapes(graph);
  for (const char* platform : {"onnxruntime", "tensorrt_qdq", "openvino"}) {
    QuantConfig config;
    config.platform = platform;
    const QuantPlan plan = make_plan(graph, config);
    const auto left =
        std::find_if(plan.skipped.begin(), plan.skipped.end(), [](const PlanSkip& skip) { return skip.value == "w"; });
    ASSERT_NE(left, plan.skipped.end()) << platform;
    EXPECT_EQ(left->reason, "a weight on the left of the MatMul 'product': only weights on the right are quantized");
  }
}

}  // namespace
}  // namespace quench
