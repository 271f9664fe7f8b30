// ONNX Runtime's own operators: what ONNX Runtime computed with them (tests/data/microsoft/make.py), and what they
// become.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/npz.h"

namespace quench {
namespace {

std::string microsoft_file(const std::string& name) {
  const char* folder = std::getenv("QUENCH_TEST_DATA");
  return std::string(folder ? folder : "tests/data") + "/microsoft/" + name;
}

// Sums of at most 40 products of magnitudes up to about 4, in another order, and functions that either side computes to
// a few units in the last place: 64 of them, of the largest value.
double tolerance_of(const at::Tensor& expected) {
  return 64 * 0x1p-24 * std::max(1.0, expected.abs().max().item<double>());
}

// ONNX Runtime's softmax takes its exponentials from a table and multiplies by the reciprocal of their sum.
double allowed_steps(const std::string& name) { return name.starts_with("softmax") ? 1.0 : 0.0; }

TEST(Microsoft, OperatorsGiveWhatOnnxRuntimeGives) {
  const Graph graph = import_model(microsoft_file("ops.onnx"));
  const std::map<std::string, RtValue> arrays = read_npz(microsoft_file("ops.npz"));
  NamedValues inputs;
  std::vector<std::string> names;
  for (const auto& [name, value] : arrays) {
    if (name.starts_with("in/")) inputs[name.substr(3)] = value;
    if (name.starts_with("out/")) names.push_back(name.substr(4));
  }
  ASSERT_EQ(names.size(), graph.outputs().size());
  ASSERT_GT(names.size(), 45U);
  const NamedValues found = Executor(graph).run(inputs, names);
  for (const std::string& name : names) {
    const at::Tensor &actual = found.at(name).tensor(), &expected = arrays.at("out/" + name).tensor();
    ASSERT_EQ(actual.sizes(), expected.sizes()) << name;
    ASSERT_EQ(actual.scalar_type(), expected.scalar_type()) << name;
    const double difference = (actual.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
    EXPECT_LE(difference, expected.is_floating_point() ? tolerance_of(expected) : allowed_steps(name)) << name;
  }
}

std::string upgraded(const std::string& op, const std::vector<Dims>& dims, std::map<std::string, Attr> attrs,
                     int outputs = 1) {
  return OneNode(op, dims, std::move(attrs), outputs).upgraded_from(17);
}

TEST(Microsoft, FusedLayersBecomeLayers) {
  EXPECT_EQ(upgraded("com.microsoft.FusedConv", {{1, 2, 4, 4}, {3, 2, 1, 1}, {3}, {1, 3, 4, 4}},
                     {{"activation", std::string("Relu")}, {"group", integer(1)}}),
            "out_raw = Conv(x, y, z) group=1; out_raw_1 = Add(out_raw, u); out = Relu(out_raw_1)");
  EXPECT_EQ(upgraded("com.microsoft.FusedConv", {{1, 2, 4, 4}, {3, 2, 1, 1}},
                     {{"activation", std::string("Clip")}, {"activation_params", Floats{0.0, 6.0}}}),
            "out_raw = Conv(x, y); out = Clip(out_raw, {0}, {6})");
  EXPECT_EQ(upgraded("com.microsoft.FusedMatMul", {{2, 4}, {3, 4}}, {{"transB", integer(1)}, {"alpha", 0.5}}),
            "n_Transpose = Transpose(y) perm=[1, 0]; out_raw = MatMul(x, n_Transpose); out = Mul(out_raw, {0.5})");
}

TEST(Microsoft, IntegerProductsTakeTheirScalesType) {
  OneNode one("com.microsoft.MatMulIntegerToFloat", {{2, 4}, {4, 3}, {}, {3}}, {});
  for (const char* name : {"z", "u"}) {
    Value& scale = one.graph.value(name);
    scale.set_type(TypeInfo::tensor(DType::kFloat16, scale.dims()));
  }
  EXPECT_EQ(one.upgraded_from(17),
            "n_scale = Mul(z, u); out_raw = MatMulInteger(x, y, -, -); out_raw_1 = Cast(out_raw) to=10; "
            "out = Mul(out_raw_1, n_scale)");
}

TEST(Microsoft, SumsThatAreOutputsKeepTheirNames) {
  EXPECT_EQ(upgraded("com.microsoft.SkipSimplifiedLayerNormalization", {{2, 4}, {2, 4}, {4}}, {}, 1),
            "n_Add = Add(x, y); out = RMSNormalization(n_Add, z) axis=-1 epsilon=1e-12");
  OneNode one("com.microsoft.SkipLayerNormalization", {{2, 4}, {2, 4}, {4}}, {{"epsilon", 0.5}}, 4);
  one.graph.clear_outputs();
  one.graph.add_output(one.graph.value("out"));
  one.graph.add_output(one.graph.value("out3"));
  EXPECT_EQ(one.upgraded_from(17),
            "out3 = Add(x, y); out, out1, out2 = LayerNormalization(out3, z) axis=-1 epsilon=0.5");
  one.graph.verify();
}

TEST(Microsoft, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(message_of([] {
              upgraded("com.microsoft.FusedConv", {{1, 2, 4, 4}, {3, 2, 1, 1}}, {{"activation", std::string("Mish")}});
            }),
            "its activation 'Mish' is not known\n  while reading node 'n' (Conv)");
  EXPECT_EQ(
      message_of([] { upgraded("com.microsoft.SkipSimplifiedLayerNormalization", {{2, 4}, {2, 4}, {4}}, {}, 2); }),
      "its output 1 is used, which has no counterpart\n"
      "  while reading node 'n' (com.microsoft.SkipSimplifiedLayerNormalization)");
  EXPECT_NE(message_of([] {
              upgraded("com.microsoft.MatMulIntegerToFloat", {{2, 4}, {4, 3}, {}}, {});
            }).find("a factor or its scale is absent"),
            std::string::npos);
}

}  // namespace
}  // namespace quench
