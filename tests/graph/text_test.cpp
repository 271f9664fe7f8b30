// The text form: what to_text writes, parse_graph reads back to the letter.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/graph.h"

namespace quench {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Graph with_everything() {
  Graph graph;
  graph.name = "a \"strange\" name\n";
  graph.doc = "two\nlines";
  graph.metadata["key"] = "value";
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), Dim(), 3, Dim::symbol("2*H")}));
  graph.add_input("rank unknown", TypeInfo::tensor(DType::kFloat16));
  graph.add_input("s", TypeInfo::sequence(TypeInfo::tensor(DType::kInt64, {2})));
  graph.add_constant("small", at::tensor({0.1F, -1e30F, 3.0F}));
  graph.add_constant("half", at::arange(5).to(at::kHalf)).set_parameter(true);
  graph.add_constant("int4", at::tensor({-8, 7}).to(at::kChar), DType::kInt4);
  graph.add_constant("large", at::arange(100, at::kLong));
  graph.add_constant("scalar", at::scalar_tensor(2.5, at::kDouble));
  graph.add_constant("not a number", at::full({2}, NAN));
  graph.add_constant("empty", at::empty({0, 3}));
  Node& node =
      graph.add("Relu", "node \\ 1", {&x, nullptr, &graph.value("small")}, std::vector<std::string>{"y", "", "z"});
  node.frozen = true;
  node.metadata["k"] = "v";
  node.attrs["int"] = std::int64_t{-3};
  node.attrs["float"] = 0.1;
  node.attrs["whole"] = 2.0;
  node.attrs["infinite"] = -INFINITY;
  node.attrs["string"] = std::string("a\x01z");
  node.attrs["ints"] = std::vector<std::int64_t>{};
  node.attrs["floats"] = std::vector<double>{1.0, 2.5};
  node.attrs["strings"] = std::vector<std::string>{"a", "b"};
  node.attrs["tensor"] = make_tensor_attr(at::ones({2, 2}));
  node.attrs["tensors"] = std::vector<TensorAttr>{make_tensor_attr(at::ones({1}, at::kBool))};
  node.attrs["type"] = TypeInfo::optional(TypeInfo::tensor(DType::kInt8, {1}));
  auto body = std::make_shared<Graph>();
  body->add_input("captured", TypeInfo::tensor(DType::kFloat, {}));
  body->add_output(body->value("captured"));
  node.attrs["body"] = body;
  node.captures = 1;
  graph.value("y").set_type(TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), Dim(), 3, 7}));
  graph.add_output(graph.value("y"));
  return graph;
}

TEST(TextForm, ReadsBackWhatItWrites) {
  const Graph graph = with_everything();
  const std::string text = to_text(graph);
  const Graph again = parse_graph(text);
  EXPECT_EQ(to_text(again), text);
  for (const Value* value : graph.constants())
    EXPECT_TRUE(bit_equal(value->tensor(), again.value(value->name()).tensor())) << value->name();
  EXPECT_TRUE(again.value("half").is_parameter());
  EXPECT_EQ(again.value("int4").dtype(), DType::kInt4);
  EXPECT_EQ(again.value("x").type(), graph.value("x").type());
}

TEST(TextForm, WithoutDataShowsAChecksumAndIsRefused) {
  const std::string text = to_text(with_everything(), {.data = false});
  EXPECT_NE(text.find("const %large : int64[100] = #"), std::string::npos) << text;
  EXPECT_NE(message_of(text).find("printed without the data of large tensors"), std::string::npos);
}

TEST(TextForm, NamesThePlaceOfAMistake) {
  EXPECT_EQ(message_of("graph \"g\" {\n  %y = Relu \"y\" (%x)\n}"), "line 2, column 20: 'x' is used before it is made");
  EXPECT_EQ(message_of("graph \"g\" {\n  input x : float[1]\n}"), "line 2, column 9: expected '%', found 'x'");
  EXPECT_EQ(message_of("graph \"g\" {\n  const %c : float[2] = {1}\n}"), "a tensor of 2 elements is given 1");
  EXPECT_EQ(message_of("graph \"g\" {"), "line 1, column 12: expected an operator, found ''");
  EXPECT_EQ(message_of("graph \"g"), "line 1, column 7: a string without an end");
  EXPECT_EQ(message_of("graph \"g\" {\n  const %c : float[9223372036854775807, 9] = {1}\n}"),
            "a tensor of absurd size");
}

}  // namespace
}  // namespace quench
