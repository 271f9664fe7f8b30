#include <gtest/gtest.h>

#include <filesystem>

#include "deploy/deployed.h"
#include "deploy/forms/saturation.h"
#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "support/describe.h"

namespace quench {
namespace {

at::Tensor run(const Graph& graph, const at::Tensor& x) { return Executor(graph).run({RtValue(x)})[0].tensor(); }

Graph qdq_of(const Graph& quantized) { return read_back(file_of(deployed(quantized), "net_qdq.onnx")); }

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (const auto& node : graph.nodes()) found += node->op() == op ? 1 : 0;
  return found;
}

// A rule for the layer conv2: its weight, or the tensor that it writes.
QuantConfig with_rule(void (*set)(LayerRule& rule)) {
  QuantConfig config;
  LayerRule rule;
  rule.match = "conv2";
  set(rule);
  config.layers.push_back(rule);
  return config;
}

TEST(ExportQdq, HoldsTheNumbersOfTheSimulation) {
  const Graph quantized = calibrated_graph("onnxruntime");
  const Deployment deployment = deployed(quantized);
  EXPECT_EQ(deployment.platform, "onnxruntime");
  ASSERT_EQ(deployment.files.size(), 2U);
  EXPECT_EQ(deployment.files[0].name, "net_quantizers.onnx");
  const DeployFile& file = file_of(deployment, "net_qdq.onnx");
  EXPECT_EQ(file.opset, 13);
  const Graph graph = read_back(file);
  EXPECT_EQ(graph.inputs()[0]->name(), "x");
  EXPECT_EQ(graph.outputs()[0]->name(), "pool");
  EXPECT_EQ(graph.inputs()[0]->dims()[0].text(), "N") << "the batch stays dynamic";
  EXPECT_EQ(count(graph, "Relu"), 0) << "the zero point is the least code: saturation is the Relu";
  EXPECT_EQ(graph.value("w1_quantized").dtype(), DType::kInt8);
  EXPECT_EQ(graph.value("b1_quantized").dtype(), DType::kInt32);
  EXPECT_EQ(graph.value("relu1_zero_point").dtype(), DType::kUint8);
  EXPECT_EQ(graph.value("relu1_scale").rank(), 0) << "ONNX Runtime wants scalars";
  EXPECT_EQ(graph.find_node("w1_dequantized")->get_int("axis", 1), 0);
  const at::Tensor scale = graph.value("w1_scale").tensor();
  EXPECT_TRUE(at::equal(scale, quantized.value("w1.fq.scale").tensor())) << "verbatim";
  EXPECT_TRUE(at::equal(graph.value("b1_scale").tensor(), graph.value("x_scale").tensor() * scale));
  const at::Tensor x = whole({4, 3, 8, 8}, 11, 9);
  EXPECT_TRUE(bit_equal(run(graph, x), run(quantized, x)));
}

TEST(ExportQdq, ReadsBackAsTheQuantizedGraph) {
  QuantConfig config = with_rule([](LayerRule& rule) {
    rule.weight.bits = 6;
    rule.output.bits = 7;
  });
  config.weight.narrow = true;
  const Graph quantized = calibrated_graph("onnxruntime", config);
  const Graph file = qdq_of(quantized);
  const QuantizedModel again = prepare_by_platform(file, "onnxruntime");
  int compared = 0;
  for (const auto& node : quantized.nodes()) {
    if (node->op() != "quench.FakeQuant") continue;
    const Node* same = again.graph.find_node(node->name());
    ASSERT_TRUE(same) << node->name();
    EXPECT_EQ(fake_quant_spec(*same).scheme.text(), fake_quant_spec(*node).scheme.text()) << node->name();
    const std::string value = node->input(0)->name();
    EXPECT_EQ(params_of(again.graph, value), params_of(quantized, value)) << value;
    ++compared;
  }
  EXPECT_EQ(compared, again.plan.count(Role::kActivation) + again.plan.count(Role::kWeight));
  EXPECT_EQ(count(again.graph, "quench.QuantizeBias"), 2);
  const at::Tensor x = whole({4, 3, 8, 8}, 11, 9);
  EXPECT_TRUE(bit_equal(run(again.graph, x), run(quantized, x)));
  QuantPlan expected = plan_from_yaml(quantized.metadata.at("quench.plan"));
  for (PlanEntry& entry : expected.entries) {  // each has the scale of its pair now, and learns nothing
    entry.observer = kNoObserver;
    entry.fake_quant = "fixed";
    entry.observer_options = {};
    entry.shared_with.clear();
  }
  EXPECT_EQ(diff_plans(expected, again.plan), std::vector<std::string>());
}

TEST(ExportQdq, CutsCodesThatTheSchemeDoesNotHave) {
  const Graph quantized = calibrated_graph("onnxruntime", with_rule([](LayerRule& rule) { rule.output.bits = 5; }));
  const Graph graph = qdq_of(quantized);
  ASSERT_EQ(count(graph, "Clip"), 1);
  const Node* clip = graph.find_node("conv2_quantized_clip");
  ASSERT_TRUE(clip);
  EXPECT_EQ(describe(clip->input(1)) + describe(clip->input(2)), "{0}{31}");
  EXPECT_EQ(clip->input(1)->dtype(), DType::kUint8);
  const at::Tensor x = 3 * whole({4, 3, 8, 8}, 12, 9);  // beyond what was calibrated
  EXPECT_TRUE(bit_equal(run(graph, x), run(quantized, x)));
}

// ONNX has no Clip of four bits: codes that do not fill the type go into eight.
TEST(ExportQdq, FewBitsOfActivationsAreCutOffInEight) {
  for (const int bits : {3, 4, 12}) {
    const std::string scheme = concat("int", bits, " symmetric tensor narrow");
    QuantPlan plan;
    plan.platform = "onnxruntime";
    plan.by = QuantizeBy::kDivision;
    plan.entries = {plan_entry("x", scheme), plan_entry("relu2", scheme)};
    Graph graph = small_graph();
    QuantizedModel model = insert_quantizers(graph, plan);
    calibrate(model, TensorData(whole({8, 3, 8, 8}, 5, 9)), {});
    graph = with_plan_text(model);
    const Graph file = qdq_of(graph);
    EXPECT_EQ(file.value("x_zero_point").dtype(), bits <= 8 ? DType::kInt8 : DType::kInt16);
    const at::Tensor x = 3 * whole({4, 3, 8, 8}, 12, 9);
    EXPECT_TRUE(bit_equal(run(file, x), run(graph, x))) << bits;
  }
}

TEST(ExportQdq, ABiasMayHaveAnAxisOfOne) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), Dim(4)}));
  Value& w = graph.add_constant("w", whole({4, 3}, 1, 3));
  Value& b = graph.add_constant("b", whole({1, 3}, 2, 5));
  graph.add_output(graph.add("Gemm", "fc", {&x, &w, &b}).output());
  QuantPlan plan;
  plan.platform = "onnxruntime";
  plan.by = QuantizeBy::kDivision;
  PlanEntry bias = plan_entry("b", "int8 symmetric tensor");
  bias.role = Role::kBias;
  bias.derived_from = {"x", "w"};
  plan.entries = {plan_entry("x", "uint8 affine tensor"), plan_entry("w", "int8 symmetric channel:1"), bias};
  QuantizedModel model = insert_quantizers(graph, plan);
  calibrate(model, TensorData(whole({8, 4}, 5, 9)), {});
  graph = with_plan_text(model);
  const Graph file = qdq_of(graph);
  EXPECT_EQ(file.find_node("b_dequantized")->get_int("axis", -1), 1);
  const at::Tensor items = whole({4, 4}, 11, 9);
  EXPECT_TRUE(bit_equal(run(file, items), run(graph, items)));
}

TEST(ExportQdq, StoresFourBitsAsSuch) {
  const Graph quantized = calibrated_graph("onnxruntime", with_rule([](LayerRule& rule) { rule.weight.bits = 4; }));
  const Deployment deployment = deployed(quantized);
  const DeployFile& file = file_of(deployment, "net_qdq.onnx");
  EXPECT_EQ(file.opset, 21);
  const Graph graph = read_back(file);
  EXPECT_EQ(graph.value("w2_quantized").dtype(), DType::kInt4);
  EXPECT_EQ(graph.value("w1_quantized").dtype(), DType::kInt8);
  const at::Tensor x = whole({4, 3, 8, 8}, 11, 9);
  EXPECT_TRUE(bit_equal(run(graph, x), run(quantized, x)));
}

TEST(ExportQdq, SixteenBitsNeedOpset21) {
  QuantConfig config;
  config.activation.bits = 16;
  const Deployment deployment = deployed(calibrated_graph("onnxruntime", config));
  EXPECT_EQ(file_of(deployment, "net_qdq.onnx").opset, 21);
  DeployOptions options;
  options.name = "net";
  options.opset = 13;
  EXPECT_NE(
      message_of([&] { deploy(quantized_model_of(calibrated_graph("onnxruntime", config)), options); }).find("21"),
      std::string::npos);
}

TEST(ExportQdq, SharesTheConstantsOfASharedScale) {
  QuantPlan plan;
  plan.platform = "onnxruntime";
  plan.by = QuantizeBy::kDivision;
  plan.entries = {plan_entry("x", "uint8 affine tensor"), plan_entry("relu2", "uint8 affine tensor"),
                  plan_entry("pool", "uint8 affine tensor")};
  plan.entries[2].shared_with = "relu2";
  Graph graph = small_graph();
  QuantizedModel model = insert_quantizers(graph, plan);
  calibrate(model, TensorData(whole({8, 3, 8, 8}, 5, 9)), {});
  graph = with_plan_text(model);
  const Graph file = qdq_of(graph);
  EXPECT_EQ(file.find_node("relu2_quantized")->input(1), file.find_node("pool_float_quantized")->input(1));
  EXPECT_EQ(file.outputs()[0]->name(), "pool") << "the quantizer of an output takes its name";
}

TEST(ExportQdq, RefusesWhatIsNotReady) {
  const auto message = [](const Graph& graph, const std::string& platform) {
    return message_of([&] { deployed(graph, platform); });
  };
  EXPECT_NE(message(small_graph(), "onnxruntime").find("carries no plan"), std::string::npos);
  QuantizedModel raw = prepare_by_platform(small_graph(), "onnxruntime");
  EXPECT_NE(message(with_plan_text(raw), "").find("the model is prepared, not calibrated"), std::string::npos);
  enable_quantization(raw);
  EXPECT_NE(message(with_plan_text(raw), "").find("the model is prepared, not calibrated"), std::string::npos);
  QuantizedModel off = quantized_model_of(calibrated_graph("onnxruntime"));
  disable_all(off);
  EXPECT_NE(message(with_plan_text(off), "").find("is switched off"), std::string::npos);
  const Graph calibrated = calibrated_graph("onnxruntime");
  EXPECT_NE(message(calibrated, "tensorrt").find("a plan for 'onnxruntime' to 'tensorrt'"), std::string::npos);
  EXPECT_NE(message(calibrated, "nowhere").find("nowhere"), std::string::npos);
}

TEST(SaturatedClamps, GoOnlyWhereTheCodesStayTheSame) {
  const auto dropped = [](const char* clamp, const char* scheme, float low, float high) {
    Graph graph = parse_graph(concat(R"(graph "g" {
      input %x : float[N, 4]
      const %six : float[] = {6}
      const %zero : float[] = {0}
      %a = Neg "a" (%x)
      %y = )",
                                     clamp, R"(
      output %y
    })"));
    const FakeQuantSpec spec{"fixed", QScheme::parse(scheme), Role::kActivation, QuantizeBy::kDivision, {}};
    Node& node = insert_fake_quant(graph, graph.value("y"), spec, {.quantize = true});
    make_fake_quant(spec)->accept(qparams_of_range(spec.scheme, {low}, {high}), fake_quant_tensors(node));
    const at::Tensor x = at::linspace(-20, 20, 4000).reshape({-1, 4});
    const at::Tensor before = run(graph, x);
    const int count = drop_saturated_clamps(graph);
    EXPECT_TRUE(bit_equal(run(graph, x), before)) << clamp << " " << scheme << " " << low << " " << high;
    return count;
  };
  const char *relu = "Relu \"r\" (%a)", *relu6 = "Clip \"r\" (%a, %zero, %six)";
  EXPECT_EQ(dropped(relu, "uint8 affine tensor", 0, 4), 1);
  EXPECT_EQ(dropped(relu, "uint8 affine tensor", -1, 4), 0);
  EXPECT_EQ(dropped(relu, "int8 symmetric tensor", -4, 4), 0);
  EXPECT_EQ(dropped(relu6, "uint8 affine tensor", 0, 6), 1);
  EXPECT_EQ(dropped(relu6, "uint8 affine tensor", 0, 5), 1);
  EXPECT_EQ(dropped(relu6, "uint8 affine tensor", 0, 7), 0);
  EXPECT_EQ(dropped(relu6, "int8 affine tensor", 0, 6), 1);
}

TEST(WriteDeployment, AllOrNothing) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / concat("quench_deploy_", ::getpid());
  fs::remove_all(folder);
  Deployment deployment = deployed(calibrated_graph("onnxruntime"));
  write_deployment(deployment, folder.string());
  EXPECT_TRUE(fs::exists(folder / "net_qdq.onnx"));
  EXPECT_NE(message_of([&] { write_deployment(deployment, folder.string()); }).find("force replaces it"),
            std::string::npos);
  write_deployment(deployment, folder.string(), true);
  fs::remove_all(folder);
  deployment.files[1].opset = 5;  // the second cannot be written
  EXPECT_NE(message_of([&] { write_deployment(deployment, folder.string()); }).find("opset 5"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder)) << "nothing is left, not even the folder";
}

}  // namespace
}  // namespace quench
