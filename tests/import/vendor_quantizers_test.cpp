// Quantizers under vendors' names in files that are not ours. Round trips of our own:
// tests/deploy/reference_nodes_test.
#include "import/onnx/vendor_quantizers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/fake_quant.h"
#include "quench/quantizers.h"
#include "support/describe.h"

namespace quench {
namespace {

// x -> quantizer -> Relu -> y, as a file has it.
struct File {
  explicit File(const std::string& op = "FixedPerTensorAffine", float scale = 0.5F, std::int64_t low = -128,
                std::int64_t high = 127) {
    Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {3, 2, 4, 4}));
    node = &graph.add(op, "x_post_act_fake_quantizer",
                      {&x, &graph.add_constant("s", at::tensor({scale})),
                       &graph.add_constant("z", at::tensor({0.0F})),  // LSQ's is a float
                       &graph.add_constant("n", at::tensor(low)), &graph.add_constant("p", at::tensor(high))});
    graph.add_output(graph.add("Relu", "relu", {&node->output()}, std::vector<std::string>{"y"}).output());
  }
  std::string refusal() {
    return message_of([&] { read_vendor_quantizers(graph); });
  }
  Graph graph;
  Node* node = nullptr;
};

FakeQuantSpec only_quantizer(Graph& graph) {
  read_vendor_quantizers(graph);
  graph.verify();
  for (const auto& node : graph.nodes())
    if (node->op() == "quench.FakeQuant") return fake_quant_spec(*node);
  fail("there is no quantizer");
}

TEST(VendorQuantizers, BecomeQuantizersOfOurs) {
  File file("LearnablePerTensorAffine");
  const FakeQuantSpec spec = only_quantizer(file.graph);
  EXPECT_EQ(spec.algorithm, "lsq");
  EXPECT_EQ(spec.scheme.text(), "int8 symmetric tensor");
  EXPECT_EQ(spec.role, Role::kActivation);
  const Node& node = *file.graph.find_node("x.fq");
  EXPECT_TRUE(fake_quant_flags(node).quantize);
  EXPECT_EQ(node.output().name(), "x_post_act_fake_quantizer");  // as the file calls it
  EXPECT_FALSE(file.graph.find_value("s"));                      // nothing is left over
  EXPECT_EQ(file.graph.find_node("relu")->input(0), &node.output());
}

TEST(VendorQuantizers, Mmrazors) {
  File file("mmrazor.FixedPerTensorAffine");
  EXPECT_EQ(only_quantizer(file.graph).algorithm, "fixed");
}

TEST(VendorQuantizers, RangesOfCodes) {
  const auto scheme = [](std::int64_t low, std::int64_t high) {
    File file("FixedPerTensorAffine", 0.5F, low, high);
    return only_quantizer(file.graph).scheme.text();
  };
  EXPECT_EQ(scheme(-127, 127), "int8 symmetric tensor narrow");
  EXPECT_EQ(scheme(0, 255), "uint8 symmetric tensor");
  EXPECT_EQ(scheme(0, 127), "uint7 symmetric tensor");
  EXPECT_EQ(scheme(-64, 63), "int7 symmetric tensor");
  EXPECT_EQ(scheme(-8, 7), "int4 symmetric tensor");
  EXPECT_EQ(scheme(0, 65535), "uint16 symmetric tensor");
  EXPECT_NE(File("FixedPerTensorAffine", 0.5F, -100, 100).refusal().find("-100 to 100"), std::string::npos);
}

// Readers of x itself go on reading it; a second quantizer of x has its own numbers.
TEST(VendorQuantizers, OtherReadersOfTheValue) {
  File file;
  Value& x = *file.graph.inputs()[0];
  Node& second = file.graph.add("FixedPerTensorAffine", "second",
                                {&x, &file.graph.add_constant("s2", at::tensor({0.25F})), file.node->input(2),
                                 file.node->input(3), file.node->input(4)});
  file.graph.add_output(second.output());
  file.graph.add_output(file.graph.add("Neg", "neg", {&x}).output());
  file.graph.add_output(x);
  read_vendor_quantizers(file.graph);
  file.graph.verify();
  EXPECT_EQ(file.graph.find_node("neg")->input(0), &x);
  EXPECT_EQ(file.graph.outputs()[3], &x);
  EXPECT_EQ(file.graph.outputs()[1]->name(), "second");
  EXPECT_EQ(describe(file.graph.outputs()[1]->producer()->input(1)), "{0.25}");
  EXPECT_EQ(describe(file.graph.find_node("x.fq")->input(1)), "{0.5}");
}

// Five inputs: the axis is that of the layer. Six: the fourth gives it.
TEST(VendorQuantizers, PerChannel) {
  const auto axis_for = [](bool says, bool transposed) {
    Graph graph;
    Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 2, 4, 4}));
    Value& w = graph.add_constant("w", at::ones({2, 2, 1, 1}));
    std::vector<Value*> inputs = {&w, &graph.add_constant("s", at::tensor({0.5F, 0.25F})),
                                  &graph.add_constant("z", at::zeros({2}, at::kInt))};
    if (says) inputs.push_back(&graph.add_constant("a", at::tensor(std::int64_t{1})));
    inputs.push_back(&graph.add_constant("n", at::tensor(std::int64_t{-128})));
    inputs.push_back(&graph.add_constant("p", at::tensor(std::int64_t{127})));
    Node& node = graph.add("FixedPerChannelAffine", "q", inputs);
    graph.add_output(graph.add(transposed ? "ConvTranspose" : "Conv", "conv", {&x, &node.output()}).output());
    return only_quantizer(graph).scheme.axis();
  };
  EXPECT_EQ(axis_for(false, false), 0);
  EXPECT_EQ(axis_for(false, true), 1);
  EXPECT_EQ(axis_for(true, false), 1);
}

TEST(VendorQuantizers, Refuses) {
  EXPECT_NE(File("FixedPerChannelAffine").refusal().find("no axis of its input has that many channels"),
            std::string::npos);
  File computed;
  computed.graph.set_input(*computed.node, 1, computed.graph.inputs()[0]);
  EXPECT_NE(computed.refusal().find("input 1, the scale, must be a constant"), std::string::npos);
  File bare("FakeQuantizeTqtAffine");
  EXPECT_NE(bare.refusal().find("quant_min"), std::string::npos);
  File negative("FixedPerTensorAffine", -0.5F);
  EXPECT_NE(negative.refusal().find("scale"), std::string::npos);
}

}  // namespace
}  // namespace quench
