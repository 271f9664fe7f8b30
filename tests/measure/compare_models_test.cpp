#include "quench/compare_models.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "convert/converted.h"
#include "quench/deploy.h"
#include "quench/quantizers.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const ValueDifference& value_of(const ModelComparison& found, const std::string& name) {
  for (const ValueDifference& value : found.values)
    if (value.name == name) return value;
  fail("no value '", name, "'");
}

TEST(CompareModels, AModelIsEqualToItself) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  const TensorData data(whole({5, 3, 8, 8}, 5, 9));
  const ModelComparison found = compare_models(model.graph, model.graph, data);
  EXPECT_EQ(found.items, 5);
  EXPECT_EQ(found.largest(), 0.0);
  EXPECT_EQ(value_of(found, "relu1").elements, 5 * 4 * 8 * 8);
}

TEST(CompareModels, CountsInStepsOfTheQuantizedOne) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  const TensorData data(whole({5, 3, 8, 8}, 5, 9));
  const ModelComparison found = compare_models(without_quantizers(model.graph), model.graph, data);
  const ValueDifference& input = value_of(found, "x");
  const Node* quantizer = quantizer_of(model.graph, "x");
  EXPECT_FLOAT_EQ(static_cast<float>(input.step), quantizer->input(1)->tensor().item<float>());
  EXPECT_LE(input.largest, 0.5001) << "rounding";
  EXPECT_GT(input.largest, 0.0);
  EXPECT_EQ(input.different, 0) << "half a step is the same code";
  EXPECT_GT(value_of(found, "relu2").largest, input.largest);
}

// All three forms meet under the names of the float model.
TEST(CompareModels, TakesIntegers) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  const TensorData data(whole({5, 3, 8, 8}, 5, 9));
  const QuantizedModel int8 = convert(model);
  for (const Graph& other : {model.graph, without_quantizers(model.graph)}) {
    const ModelComparison found = compare_models(other, int8.graph, data);
    EXPECT_TRUE(value_of(found, "x").quantized);
    EXPECT_EQ(value_of(found, "relu1").elements, 5 * 4 * 8 * 8);
    EXPECT_TRUE(found.only_a.empty() && found.only_b.empty());
  }
  EXPECT_EQ(value_of(compare_models(model.graph, int8.graph, data), "x").largest, 0.0) << "the same division";
  EXPECT_LE(compare_models(model.graph, int8.graph, data).largest(), 3.0);
}

// What stood in front of its quantizers was compared, hundreds of steps off.
TEST(CompareModels, ADeployedFileIsItsSimulation) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  const TensorData data(whole({5, 3, 8, 8}, 5, 9));
  const Deployment files = deploy(model, {.name = "net"});
  const auto qdq = std::find_if(files.files.begin(), files.files.end(),
                                [](const DeployFile& file) { return file.name == "net_qdq.onnx"; });
  ASSERT_NE(qdq, files.files.end());
  const ModelComparison found = compare_models(model.graph, qdq->model, data);
  EXPECT_TRUE(value_of(found, "relu1").quantized);
  EXPECT_LE(found.largest(), 1.001);
}

TEST(CompareModels, SeesOneWrongWeight) {
  const QuantizedModel model = calibrated_small("onnxruntime");
  QuantizedModel int8 = convert(model);
  at::Tensor weight = int8.graph.value("w2").tensor().clone();
  weight.flatten()[0] += 40;
  int8.graph.set_tensor(int8.graph.value("w2"), weight);
  const ModelComparison found = compare_models(model.graph, int8.graph, TensorData(whole({5, 3, 8, 8}, 5, 9)));
  EXPECT_LE(value_of(found, "relu1").largest, 1.001);
  EXPECT_GT(value_of(found, "relu2").largest, 3.0);
}

TEST(CompareModels, RefusesOtherNetworks) {
  const TensorData data(whole({5, 3, 8, 8}, 5, 9));
  Graph other = small_graph();
  other.rename(*other.inputs()[0], "image");
  EXPECT_ERROR(compare_models(small_graph(), other, data), "different inputs");
  Graph renamed = small_graph();
  for (const auto& node : renamed.nodes()) renamed.rename(node->output(), node->output().name() + "_other");
  EXPECT_ERROR(compare_models(small_graph(), renamed, data), "no value in common");
}

// A model that gives NaN was as good as equal.
TEST(CompareModels, WhatIsNoNumberIsInfinitelyFar) {
  const auto scaled = [](float by) {
    Graph graph;
    Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4}));
    Node& y = graph.add("Mul", "y", {&x, &graph.add_constant("by", at::full({1}, by))});
    graph.add_output(graph.add("Relu", "z", {&y.output()}).output());
    run_passes(graph, {"infer_shapes"});
    return graph;
  };
  const TensorData data(whole({5, 4}, 1, 9));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(compare_models(scaled(1), scaled(nan), data).largest()));
  EXPECT_TRUE(std::isinf(compare_models(scaled(nan), scaled(1), data).largest()));
  EXPECT_EQ(compare_models(scaled(nan), scaled(nan), data).largest(), 0.0);
}

}  // namespace
}  // namespace quench
