#include "convert/table.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "convert/converted.h"

namespace quench {
namespace {

using Build = Value& (*)(Graph&, Value&);

template <const char* const& Op>
Value& one(Graph& graph, Value& x) {
  return graph.add(Op, "f", {&x}).output();
}
constexpr const char* kSigmoid = "Sigmoid";
constexpr const char* kHardSwish = "HardSwish";
constexpr const char* kLeakyRelu = "LeakyRelu";
constexpr const char* kTanh = "Tanh";
constexpr const char* kElu = "Elu";

Value& swish(Graph& graph, Value& x) {
  return graph.add("Mul", "f", {&x, &graph.add("Sigmoid", "gate", {&x}).output()}).output();
}
Value& thirds(Graph& graph, Value& x) {
  return graph.add("Div", "f", {&x, &graph.add_constant("three", at::tensor(3.0F))}).output();
}

struct Case {
  Build build;
  const char* function;
};
class Tables : public testing::TestWithParam<Case> {};

// Every code of x, so every entry: to the bit what the simulation gives.
TEST_P(Tables, HoldWhatTheFloatFunctionGives) {
  const at::Tensor x = at::linspace(-6, 6, 1024).reshape({4, 16, 16});
  for (const char* from : {"uint8 affine tensor", "int8 symmetric tensor", "int4 symmetric tensor"}) {
    const QuantizedModel model = Between{from, "uint8 affine tensor"}(GetParam().build, x);
    ConvertRecord record;
    const QuantizedModel int8 = convert(model, {}, &record);
    EXPECT_EQ(record.tables, 1);
    EXPECT_EQ(ops_of(int8.graph), "quench.Quantize quench.QTable Identity quench.Dequantize");
    EXPECT_TRUE(at::equal(run_graph(int8.graph, x), run_graph(model.graph, x))) << from;
    for (const auto& node : int8.graph.nodes())
      if (node->op() == "quench.QTable") EXPECT_EQ(node->get_string("function", ""), GetParam().function);
  }
}
INSTANTIATE_TEST_SUITE_P(Table, Tables,
                         testing::Values(Case{one<kSigmoid>, "Sigmoid"}, Case{one<kHardSwish>, "HardSwish"},
                                         Case{one<kLeakyRelu>, "LeakyRelu"}, Case{one<kTanh>, "Tanh"},
                                         Case{one<kElu>, "Elu"}, Case{swish, "Sigmoid+Mul"}, Case{thirds, "Div"}));

TEST(Table, SixteenBitsStayInFloat) {
  const at::Tensor x = at::linspace(-6, 6, 1024).reshape({4, 16, 16});
  ConvertRecord record;
  convert(Between{"int16 symmetric tensor", "uint8 affine tensor"}(one<kSigmoid>, x), {}, &record);
  EXPECT_EQ(record.tables, 0);
  EXPECT_EQ(record.in_float.at(0).reason, "Sigmoid has no integer form");
}

// From one scale to another: the rule's own rounding.
TEST(Table, AnotherTypeIsRequantizedByTheRule) {
  const at::Tensor x = at::linspace(-6, 6, 1024).reshape({4, 16, 16});
  const auto reshaped = [](Graph& graph, Value& in) -> Value& { return graph.add("Flatten", "f", {&in}).output(); };
  const QuantizedModel model = Between{"uint8 affine tensor", "int4 symmetric tensor"}(reshaped, x);
  ConvertRecord record;
  const QuantizedModel int8 = convert(model, {.requantize = "half_up"}, &record);
  EXPECT_EQ(record.tables, 1);
  EXPECT_EQ(ops_of(int8.graph), "quench.Quantize Flatten quench.QTable Identity quench.Dequantize");
  EXPECT_TRUE(at::equal(run_graph(convert(model, {.requantize = "float"}).graph, x), run_graph(model.graph, x)));
  // More codes than a table has: one operand of a Concat.
  const QuantizedModel wide = Between{"int16 symmetric tensor", "int4 symmetric tensor"}(reshaped, x);
  const QuantizedModel int16 = convert(wide, {.requantize = "float"});
  EXPECT_EQ(ops_of(int16.graph), "quench.Quantize Flatten quench.QConcat Identity quench.Dequantize");
  EXPECT_TRUE(at::equal(run_graph(int16.graph, x), run_graph(wide.graph, x)));
}

}  // namespace
}  // namespace quench
