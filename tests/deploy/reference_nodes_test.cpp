// N_quantizers.onnx: every algorithm's quantizers under the names of MQBench's deploy branch, and read back again.
#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"
#include "graph/tensor_types.h"
#include "quantized/own_tensor.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

// plain_net() with one quantizer.
Graph net_with(const std::string& value, const std::string& scheme, const Numbers& numbers,
               const std::string& algorithm) {
  Graph graph = plain_net();
  quantize(graph, value, scheme, numbers, algorithm);
  return planned(graph, "academic");
}

const Numbers kOne = {{0.5F}, {0}}, kTwo = {{0.5F, 0.25F}, {0, 0}};

struct Case {
  std::string algorithm, value, scheme;
  Numbers numbers;
  std::string node;  // as describe() writes it
};

const Case kCases[] = {
    {"fixed",
     "relu",
     "uint8 affine tensor",
     {{0.5F}, {3}},
     "relu.fq = vendor.FixedPerTensorAffine(relu, {0.5}, {3}, {0}, {255})"},
    {"fixed", "w", "int8 symmetric channel:0 narrow", kTwo,
     "w.fq = vendor.FixedPerChannelAffine({-1, 1, 3, -2, 0, 2}, {0.5, 0.25}, {0, 0}, {0}, {-127}, {127})"},
    {"lsq",
     "relu",
     "uint4 affine tensor",
     {{0.5F}, {3}},
     "relu.fq = vendor.LearnablePerTensorAffine(relu, {0.5}, {3}, {0}, {15})"},
    {"lsq", "v", "int8 symmetric channel:0", kTwo,
     "v.fq = vendor.FakeQuantizeLearnablePerchannelAffine({1, 3, -2, 0}, {0.5, 0.25}, {0, 0}) quant_max=127 "
     "quant_min=-128"},
    {"lsq_plus",
     "relu",
     "uint8 affine tensor",
     {{0.5F}, {3}},
     "relu.fq = vendor.LearnablePerTensorAffine(relu, {0.5}, {3}, {0}, {255})"},
    {"dsq", "relu", "int8 symmetric tensor", kOne,
     "relu.fq = vendor.FakeQuantizeDSQPertensor(relu, {0.5}, {0}) alpha=0.4 quant_max=127 quant_min=-128"},
    {"dsq", "w", "int8 symmetric channel:0", kTwo,
     "w.fq = vendor.FakeQuantizeDSQPerchannel({-1, 1, 3, -2, 0, 2}, {0.5, 0.25}, {0, 0}) alpha=0.4 quant_max=127 "
     "quant_min=-128"},
    {"tqt", "relu", "int8 symmetric tensor pot", kOne,
     "relu.fq = vendor.FakeQuantizeTqtAffine(relu, {0.5}, {0}) quant_max=127 quant_min=-128"},
    {"nnie", "relu", "log8", kOne, "relu.fq = vendor.NNIEQuantize(relu, {0.5})"},
    {"qdrop", "relu", "uint8 affine tensor", kOne,
     "relu.fq = vendor.LearnablePerTensorAffine(relu, {0.5}, {0}, {0}, {255})"},
};

class ReferenceNodes : public testing::TestWithParam<Case> {};

TEST_P(ReferenceNodes, HaveTheReferencesForm) {
  const Case& one = GetParam();
  const Deployment deployment = deployed(net_with(one.value, one.scheme, one.numbers, one.algorithm));
  const DeployFile& file = file_of(deployment, "net_quantizers.onnx");
  EXPECT_EQ(file.opset, 11);
  const std::string text = describe(file.model);
  EXPECT_NE(text.find(one.node), std::string::npos) << one.node << "\nin\n" << text;
  const std::string bytes = export_onnx_bytes(file.model, {.opset = file.opset});
  EXPECT_EQ(bytes.find("vendor"), std::string::npos);  // of ONNX's own domain
  EXPECT_EQ(bytes.find("quench.FakeQuant"), std::string::npos);
}

TEST_P(ReferenceNodes, AreReadBack) {
  const Case& one = GetParam();
  const Graph graph = net_with(one.value, one.scheme, one.numbers, one.algorithm);
  const Graph again = read_back(file_of(deployed(graph), "net_quantizers.onnx"));
  const Node* node = again.find_node(one.value + ".fq");
  ASSERT_TRUE(node);
  const FakeQuantSpec before = fake_quant_spec(*graph.find_node(one.value + ".fq")), after = fake_quant_spec(*node);
  EXPECT_EQ(after.role, before.role);
  EXPECT_EQ(after.scheme.bits(), before.scheme.bits());
  EXPECT_EQ(after.scheme.narrow(), before.scheme.narrow());
  EXPECT_EQ(after.scheme.granularity(), before.scheme.granularity());
  EXPECT_EQ(after.scheme.axis(), before.scheme.axis());
  const QParams params = make_fake_quant(after)->deployed(fake_quant_tensors(*node));
  EXPECT_EQ(params.scale, one.numbers.scale);
  EXPECT_EQ(params.zero_point, one.numbers.zero_point);
  const RtValue x(whole({2, 3, 7, 7}, 3, 9));
  EXPECT_TRUE(bit_equal(Executor(again).run({x})[0].tensor(), Executor(graph).run({x})[0].tensor()));
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceNodes, testing::ValuesIn(kCases),
                         [](const auto& one) { return one.param.algorithm + "_" + one.param.value; });

// A division and the product with a reciprocal differ near ties: the file says which.
TEST(ReferenceModel, KeepsHowTheTargetDivides) {
  Graph graph = plain_net();
  FakeQuantSpec spec;
  spec.by = QuantizeBy::kDivision;
  Node& node = insert_fake_quant(graph, graph.value("relu"), spec, {.quantize = true});
  set_qparams(node, {{0.3F}, {0}});
  const Graph again = read_back(file_of(deployed(planned(graph, "academic")), "net_quantizers.onnx"));
  EXPECT_EQ(fake_quant_spec(*again.find_node("relu.fq")).by, QuantizeBy::kDivision);
}

TEST(ReferenceModel, AxisOneForTransposedConvolutions) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 2, 4, 4}));
  Value& w = graph.add_constant("w", whole({2, 2, 1, 1}, 1, 3));
  graph.add_output(graph.add("ConvTranspose", "conv", {&x, &w}, std::vector<std::string>{"y"}).output());
  run_passes(graph, {"infer_shapes"});
  quantize(graph, "w", "int8 symmetric channel:1", kTwo, "lsq");
  const Graph again = read_back(file_of(deployed(planned(graph, "academic")), "net_quantizers.onnx"));
  EXPECT_EQ(fake_quant_spec(*again.find_node("w.fq")).scheme.axis(), 1);
}

// A plug-in's own operator: its file registers both.
QUENCH_REGISTER_ITEM(FakeQuantEntry, "test_own", "for this test",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                       FakeQuantSpec plain = spec;
                       plain.algorithm = "fixed";
                       return make_fake_quant(plain);
                     }})
QUENCH_REGISTER_ITEM(VendorNode, "test_own", "for this test",
                     {{"TestOwnQuantize", VendorLayout::kCodesAsAttributes}, {}})

TEST(ReferenceModel, APluginsOwnOperator) {
  const Graph graph = net_with("relu", "int8 symmetric tensor", kOne, "test_own");
  const DeployFile file = file_of(deployed(graph), "net_quantizers.onnx");
  EXPECT_EQ(file.model.find_node("relu.fq")->op(), "vendor.TestOwnQuantize");
  EXPECT_EQ(fake_quant_spec(*read_back(file).find_node("relu.fq")).algorithm, "test_own");
  Graph channels = net_with("w", "int8 symmetric channel:0", kTwo, "test_own");
  EXPECT_NE(refusal_of(channels).find("has no node that vendors' tools read"), std::string::npos);
}

// A quantizer whose bounds learn: they are tensors of its own.
class OwnBounds : public FakeQuant {
 public:
  explicit OwnBounds(const FakeQuantSpec& spec) : FakeQuant(spec) {}
  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& t, const FakeQuantRun&) const override {
    const auto bound = [&](int i) { return t.own(i).round().clamp(scheme().qmin(), scheme().qmax()); };
    return at::round(x / t.scale()).clamp(bound(0), bound(1)) * t.scale();
  }
};
QUENCH_REGISTER_ITEM(FakeQuantEntry, "test_bounds", "for this test",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        return std::make_unique<OwnBounds>(spec);
                      },
                      .params = [](const FakeQuantSpec&) -> std::vector<FakeQuantParam> {
                        return {{"quant_min", ParamShape::kScalar, true, -8.0},
                                {"quant_max", ParamShape::kScalar, true, 7.0}};
                      },
                      .per_channel = false})
QUENCH_REGISTER_ITEM(VendorNode, "test_bounds", "for this test",
                     {{"TestBoundsQuantize", VendorLayout::kLearnedCodes}, {}})

TEST(ReferenceModel, BoundsThatWereLearned) {
  Graph graph = plain_net();
  quantize(graph, "relu", "int4 symmetric tensor narrow", kOne, "test_bounds");
  const Node& before = *graph.find_node("relu.fq");
  own_tensor(before, "quant_min").detach().fill_(-3.4);
  own_tensor(before, "quant_max").detach().fill_(9.0);  // beyond what the codes can be
  const DeployFile file = file_of(deployed(planned(graph, "academic")), "net_quantizers.onnx");
  EXPECT_EQ(file.model.find_node("relu.fq")->get_int("quant_min", 0), -3);
  EXPECT_EQ(file.model.find_node("relu.fq")->get_int("quant_max", 0), 7);
  const Graph again = read_back(file);
  const Node& after = *again.find_node("relu.fq");
  EXPECT_EQ(fake_quant_spec(after).scheme.text(), "int4 symmetric tensor narrow");
  EXPECT_EQ(own_tensor(after, "quant_min").item<float>(), -3.0F);
  EXPECT_EQ(own_tensor(after, "quant_max").item<float>(), 7.0F);
}

// A research platform's file must not be announced as the one to ship.
TEST(ReferenceModel, OfResearchIsNotToShip) {
  Graph graph = plain_net();
  quantize(graph, "relu", "uint8 affine tensor", kOne, "fixed");
  const Deployment research = deployed(planned(graph, "academic")), target = deployed(planned(graph, "mmrazor_native"));
  EXPECT_EQ(file_of(research, "net_quantizers.onnx").use, FileUse::kReference);
  ASSERT_EQ(research.notes.size(), 1U);
  EXPECT_NE(research.notes[0].find("is for research, and no runtime takes its file"), std::string::npos);
  EXPECT_NE(research.notes[0].find("DeployOptions::platform"), std::string::npos);
  EXPECT_EQ(file_of(target, "net_quantizers.onnx").use, FileUse::kShip);
}

}  // namespace
}  // namespace quench
