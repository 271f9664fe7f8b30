#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// resnet18: the input, the stem (Conv, Relu), MaxPool (shares); per block the first Conv, the second Conv (an input of
// Add) and Add with its Relu (8 x 3); three downsampling Convs; pool, Flatten (shares), the logits:
//   1 + 1 + 1 + 24 + 3 + 1 + 1 + 1 = 33
// mobilenet_v2: the input, the stem; the first block's 2 Convs; 16 blocks of 3 Convs; 10 Adds; the last Conv, pool,
// Flatten (shares), the logits: 1 + 1 + 2 + 48 + 10 + 1 + 1 + 1 + 1 = 66. Clip is absorbed by the Conv before it.
TEST(Onnxruntime, Counts) {
  EXPECT_EQ(counts("onnxruntime", "resnet18"), (Counts{33, 21}));
  EXPECT_EQ(counts("onnxruntime", "mobilenet_v2"), (Counts{66, 53}));
}

TEST(Onnxruntime, GemmIsPerTensorAndBiasesAreInt32) {
  QuantConfig config;
  config.platform = "onnxruntime";
  const QuantPlan plan = make_plan(zoo_graph("resnet18"), config);
  EXPECT_EQ(plan.by, QuantizeBy::kDivision);
  const PlanEntry* fc = plan.find("fc.weight");
  ASSERT_TRUE(fc);
  EXPECT_TRUE(fc->scheme.per_tensor());
  const PlanEntry* bias = plan.find("fc.bias");
  ASSERT_TRUE(bias);
  EXPECT_EQ(bias->derived_from[1], "fc.weight");
  const PlanEntry* conv = plan.find("conv1.weight");
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->scheme.text(), "int8 symmetric channel:0 narrow");
}

TEST(Onnxruntime, LogitsKeepTheirWholeRange) {
  QuantConfig config;
  config.platform = "onnxruntime";
  const Graph& graph = zoo_graph("resnet18");
  const std::string logits = graph.outputs()[0]->name();
  EXPECT_EQ(make_plan(graph, config).find(logits)->observer, "min_max");
  config.activation.observer = "percentile";  // the user's choice is kept
  EXPECT_EQ(make_plan(graph, config).find(logits)->observer, "percentile");
}

TEST(Onnxruntime, FloatOutputIsAnOption) {
  QuantConfig config;
  config.platform = "onnxruntime";
  config.platform_options.set("float_output", 1.0);
  EXPECT_EQ(counts(config, "resnet18"), (Counts{32, 21}));
}

// What a transformer adds to, squares and gates is float: its products read codes and give float.
TEST(Onnxruntime, TransformersComputeProductsOnCodesAlone) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[3, 2]
    const %a.weight : float[2, 2] = {1.0, 2.0, 3.0, 4.0}
    const %b.weight : float[2, 2] = {1.0, 2.0, 3.0, 4.0}
    %stream = Exp "stream" (%x)
    %square = Mul "square" (%stream, %stream)
    %a = MatMul "a" (%stream, %a.weight)
    %sigmoid = Sigmoid "sigmoid" (%a)
    %gate = Mul "gate" (%a, %sigmoid)
    %b = MatMul "b" (%gate, %b.weight)
    %residual = Add "residual" (%stream, %b)
    %turned = Transpose "turned" (%b) {perm = ints[0, 1]}
    %sum = Add "sum" (%gate, %turned)
    output %square
    output %residual
    output %sum
  })");
  infer_shapes(graph);
  const QuantPlan plan = make_plan(graph, config_for("onnxruntime"));
  EXPECT_EQ(quantized_values(plan), "stream gate");
  EXPECT_EQ(plan.find("gate")->observer_options.number("p"), 2.0);
  EXPECT_EQ(reason_of(plan, "a"), "'a' multiplies codes and gives float");
  EXPECT_EQ(reason_of(plan, "gate"), "");
  EXPECT_EQ(reason_of(plan, "residual"), "'residual' joins 'stream', which is float");
  EXPECT_EQ(reason_of(plan, "square"), "'square' joins 'stream', which is float");

  QuantConfig forced = config_for("onnxruntime");  // the user's choice is kept
  forced.additional_nodes = {"residual"};
  EXPECT_TRUE(make_plan(graph, forced).find("residual"));
  QuantConfig kept = config_for("onnxruntime");
  kept.excluded_nodes = {"b"};
  EXPECT_EQ(reason_of(make_plan(graph, kept), "sum"), "'sum' joins 'gate', which is float");
}

// Between convolutions a gate is codes, and an Add is where codes come in and are read: `last` is read by a norm alone.
TEST(Onnxruntime, JoinsWhatComesInCodesAndIsReadInCodes) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2, 4, 4]
    const %a.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %b.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %norm.scale : float[4] = {1.0, 1.0, 1.0, 1.0}
    %a = Conv "a" (%x, %a.weight)
    %sigmoid = Sigmoid "sigmoid" (%a)
    %gate = Mul "gate" (%a, %sigmoid)
    %b = Conv "b" (%gate, %b.weight)
    %sum = Add "sum" (%gate, %b)
    %c = Conv "c" (%sum, %b.weight)
    %last = Add "last" (%c, %sum)
    %norm = LayerNormalization "norm" (%last, %norm.scale)
    output %norm
  })");
  infer_shapes(graph);
  const QuantPlan plan = make_plan(graph, config_for("onnxruntime"));
  EXPECT_EQ(quantized_values(plan), "x a sigmoid gate b sum c");
  EXPECT_EQ(reason_of(plan, "last"), "'last' is read by norms and float sums alone");
}

// The runtime's MatMul on codes takes scales per channel of a matrix only.
TEST(Onnxruntime, ABatchedWeightHasOneScale) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {4, 6, 64}));
  Value& w = graph.add_constant("w", at::randn({4, 64, 64}));
  Value& v = graph.add_constant("v", at::randn({64, 64}));
  Value& first = graph.add("MatMul", "first", {&x, &w}).output();
  graph.add_output(graph.add("MatMul", "second", {&first, &v}).output());
  infer_shapes(graph);
  const QuantPlan plan = make_plan(graph, config_for("onnxruntime"));
  EXPECT_TRUE(plan.find("w")->scheme.per_tensor());
  EXPECT_NE(plan.find("w")->rule.find("a weight with batches"), std::string::npos);
  EXPECT_EQ(plan.find("v")->scheme.granularity(), Granularity::kChannel);
}

TEST(Onnxruntime, RefusesBitsThatNothingCutsOff) {
  for (const int bits : {4, 8, 9, 16}) {
    QuantConfig config = config_for("onnxruntime");
    config.activation.bits = bits;
    if (bits == 9)
      EXPECT_ERROR(make_plan(zoo_graph("resnet18"), config), "9-bit activations (1 to 8 or 16 bits only)");
    else
      EXPECT_GT(make_plan(zoo_graph("resnet18"), config).entries.size(), 0U) << bits;
  }
}

TEST(Onnxruntime, RefusesWhatItCannotRun) {
  QuantConfig config;
  config.platform = "onnxruntime";
  config.activation.granularity = Granularity::kChannel;
  config.activation.observer = "min_max";
  try {
    make_plan(zoo_graph("resnet18"), config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("cannot run per-channel activations (per tensor only)"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace quench
