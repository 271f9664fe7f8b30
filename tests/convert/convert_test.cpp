#include "quench/convert.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "convert/converted.h"
#include "ops/integer_form.h"
#include "quant/requantize.h"
#include "quench/engine.h"
#include "quench/quantizers.h"
#include "support/expect_error.h"
#include "verify/many_ops.h"

namespace quench {
namespace {

TEST(Convert, ANetworkBecomesOperatorsOnCodes) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  ConvertRecord record;
  const QuantizedModel int8 = convert(model, {}, &record);
  EXPECT_EQ(int8.stage, ModelStage::kConverted);
  EXPECT_EQ(ops_of(int8.graph),
            "quench.Quantize quench.QConv quench.QConv quench.QAdd quench.Dequantize GlobalMaxPool");
  EXPECT_EQ(record.requantize, "mlas");
  EXPECT_EQ(record.layers, 3);
  ASSERT_EQ(record.in_float.size(), 1U);
  EXPECT_EQ(record.in_float[0].node, "pool");
  EXPECT_TRUE(record.warnings.empty());
  EXPECT_GT(record.largest_accumulator, 0.0);
  // One byte for each weight, under its own name.
  EXPECT_EQ(int8.graph.value("w1").dtype(), DType::kInt8);
  EXPECT_EQ(int8.graph.value("w1").tensor().element_size(), 1);
  EXPECT_EQ(int8.graph.value("b1").dtype(), DType::kInt32);
  EXPECT_EQ(int8.graph.value("relu1.fq").dtype(), DType::kUint8);
  int8.graph.verify();
  EXPECT_TRUE(quantizers_of(int8.graph).empty());
}

TEST(Convert, KeepsOneConstantForZeroPointsOfZero) {
  const QuantizedModel int8 = convert(calibrated_small("onnxruntime"));
  const Node &first = *int8.graph.find_node("conv1"), &second = *int8.graph.find_node("conv2");
  const Value *of_weight = second.input(5), *of_relu = second.input(2), *of_input = first.input(2);
  EXPECT_EQ(of_weight, first.input(5));
  EXPECT_EQ(of_weight->tensor().numel(), 4) << "one for each channel";
  EXPECT_FALSE(of_weight->tensor().any().item<bool>());
  EXPECT_NE(of_relu, of_weight);
  EXPECT_EQ(of_relu->tensor().item<int>(), 0);
  EXPECT_NE(of_input->tensor().item<int>(), 0);
}

TEST(Convert, TakesNoMoreItemsAtATimeThanFloat) {
  if (!has_engine_kernels()) GTEST_SKIP() << "built without oneDNN";
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 8, 128, 128}));
  Node& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", whole({8, 8, 3, 3}, 1, 3))});
  conv.attrs["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  graph.add_output(graph.add("Relu", "relu", {&conv.output()}).output());
  run_passes(graph, {"infer_shapes"});
  const QuantizedModel model = calibrated_model(graph, "onnxruntime", whole({2, 8, 128, 128}, 2, 9));
  Engine real(graph, {.threads = 2}), integer(convert(model).graph, {.threads = 2});
  const at::Tensor items = whole({32, 8, 128, 128}, 3, 9);
  real.run({RtValue(items)});
  integer.run({RtValue(items)});
  EXPECT_GT(integer.part(), 0);
  EXPECT_LE(integer.part(), real.part());
  EXPECT_EQ(16 % integer.part(), 0) << "parts of one size";
}

TEST(Convert, RunsInTheEngine) {
  QuantizedModel int8 = convert(calibrated_small("onnxruntime"));
  for (const std::int64_t batch : {2, 5}) {
    const at::Tensor x = whole({batch, 3, 8, 8}, batch, 9);
    EXPECT_TRUE(at::equal(int8.run({RtValue(x)})[0].tensor(), run_graph(int8.graph, x)));
  }
  const at::Tensor x = whole({2, 3, 8, 8}, 1, 9), before = int8.run({RtValue(x)})[0].tensor();
  QuantizedModel other = int8;  // has a run of its own
  EXPECT_TRUE(at::equal(other.run({RtValue(x)})[0].tensor(), before));
  QuantizedModel calibrated = calibrated_small("onnxruntime");
  EXPECT_TRUE(at::equal(calibrated.run({RtValue(x)})[0].tensor(), run_graph(calibrated.graph, x)));
}

TEST(Convert, ComputesWhatItsSimulationDoes) {
  const at::Tensor x = whole({8, 3, 8, 8}, 5, 9);
  for (const char* platform :
       {"onnxruntime", "openvino", "fbgemm", "qnnpack", "snpe", "ncnn", "tensorrt_qdq", "vitis"}) {
    const QuantizedModel model = calibrated_small(platform);
    const at::Tensor simulated = run_graph(model.graph, x), found = run_graph(convert(model).graph, x);
    const double step = simulated.abs().max().item<double>() / 100;
    EXPECT_LE((found - simulated).abs().max().item<double>(), 2 * step) << platform;
    EXPECT_GT(simulated.std().item<double>(), 0.0) << platform;
  }
}

// Everything but the Softmax at the end and the product in front of it, under every rule that is not a runtime's own
// choice of layers.
TEST(Convert, EveryLayerThatHasAnIntegerFormGetsIt) {
  at::manual_seed(9);
  const at::Tensor x = at::randn({4, 8, 12, 12});
  const QuantizedModel model = calibrated_model(many_ops(), "onnxruntime", x);
  const at::Tensor simulated = run_graph(model.graph, x);
  for (const char* rule : {"float", "affine", "half_up", "away", "tflite"}) {
    ConvertRecord record;
    const QuantizedModel int8 = convert(model, {.requantize = rule}, &record);
    std::string in_float;
    for (const auto& layer : record.in_float) in_float += layer.op + " ";
    EXPECT_EQ(in_float, "MatMul Softmax ") << rule;  // nothing quantizes what a Softmax reads
    for (const auto& node : int8.graph.nodes())
      if (!float_op(*node).empty()) EXPECT_EQ(node->get_string("requantize", ""), rule) << node->where();
    EXPECT_LE((run_graph(int8.graph, x) - simulated).abs().max().item<double>(), 0.05) << rule;
  }
}

TEST(Convert, UnderMlasWhatOnnxRuntimeComputesInFloatStaysFloat) {
  const QuantizedModel model = calibrated_small("tensorrt_qdq");  // int8 activations
  ConvertRecord mlas, own;
  convert(model, {.requantize = "mlas"}, &mlas);
  convert(model, {}, &own);
  EXPECT_EQ(mlas.layers, 0);
  EXPECT_NE(mlas.in_float.at(0).reason.find("ONNX Runtime computes it in float"), std::string::npos);
  EXPECT_GT(own.layers, 0);
}

TEST(Convert, WeightsOfFourBitsAreStoredAsSuch) {
  QuantConfig config;
  config.weight.bits = 4;
  const QuantizedModel model = calibrated_small("tensorrt_qdq", config);
  const QuantizedModel int4 = convert(model);
  EXPECT_EQ(int4.graph.value("w2").dtype(), DType::kInt4);
  const at::Tensor x = whole({8, 3, 8, 8}, 5, 9), simulated = run_graph(model.graph, x);
  EXPECT_LE((run_graph(int4.graph, x) - simulated).abs().max().item<double>(),
            simulated.abs().max().item<double>() / 50);
}

TEST(Convert, SixteenBitActivations) {
  const QuantizedModel model = calibrated_small("ppl_w8a16");
  const QuantizedModel wide = convert(model);
  EXPECT_NE(ops_of(wide.graph).find("quench.QConv"), std::string::npos);
  EXPECT_EQ(wide.graph.value("relu1.fq").dtype(), DType::kUint16);
  const at::Tensor x = whole({8, 3, 8, 8}, 5, 9), simulated = run_graph(model.graph, x);
  EXPECT_LE((run_graph(wide.graph, x) - simulated).abs().max().item<double>(),
            simulated.abs().max().item<double>() / 10000);
}

TEST(Convert, RefusesOtherStages) {
  QuantizedModel prepared = prepare_by_platform(small_graph(), "onnxruntime");
  EXPECT_ERROR(convert(prepared), "prepared, not calibrated");
  const QuantizedModel int8 = convert(calibrated_small("onnxruntime"));
  EXPECT_ERROR(convert(int8), "converted already");
  EXPECT_ERROR(convert(calibrated_small("onnxruntime"), {.requantize = "mlass"}), "unknown requantization rule",
               "mlas");
}

TEST(Convert, PrintsAsTorchDoes) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  EXPECT_ERROR(print_converted(model), "not converted");
  const std::string text = print_converted(convert(model));
  EXPECT_NE(text.find("(conv1): QuantizedConvReLU2d(3, 4, kernel_size=(3, 3), stride=(1, 1), scale="),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("padding=(1, 1), weight=int8 per channel)"), std::string::npos) << text;
  EXPECT_NE(text.find("QuantizedAddReLU(scale="), std::string::npos) << text;
  EXPECT_NE(text.find("Quantize(scale="), std::string::npos) << text;
  EXPECT_NE(text.find("DeQuantize()\n(pool): GlobalMaxPool()\n"), std::string::npos) << text;
}

TEST(Convert, TakesABatchOfNoneAsTheFloatModelDoes) {
  const Between between;
  const at::Tensor x = whole({8, 3, 8, 8}, 5, 9);
  const QuantizedModel model = between(
      [](Graph& graph, Value& in) -> Value& { return graph.add("GlobalAveragePool", "pool", {&in}).output(); }, x);
  const QuantizedModel int8 = convert(model);
  ASSERT_NE(ops_of(int8.graph).find("quench.QGlobalAveragePool"), std::string::npos) << ops_of(int8.graph);
  const at::Tensor none = x.slice(0, 0, 0);
  const at::Tensor wanted = run_graph(model.graph, none);
  EXPECT_EQ(run_graph(int8.graph, none).sizes(), wanted.sizes());
  EXPECT_EQ(Engine(int8.graph).run({RtValue(none)}).at(0).tensor().sizes(), wanted.sizes());
}

TEST(Convert, MultiplierBitsAreOfHalfUpAlone) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  EXPECT_ERROR(convert(model, {.multiplier_bits = 31}), "multiplier_bits is for the rule half_up", "mlas");
  const QuantizedModel narrow = convert(model, {.requantize = "half_up", .multiplier_bits = 9});
  EXPECT_EQ(integer_form(*narrow.graph.find_node("conv1")).arithmetic.multiplier_bits, 9);
}

}  // namespace
}  // namespace quench
