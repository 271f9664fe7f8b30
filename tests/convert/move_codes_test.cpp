#include "convert/move_codes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "convert/converted.h"
#include "ops/integer_form.h"

namespace quench {
namespace {

using Build = Value& (*)(Graph&, Value&);
using Ints = std::vector<std::int64_t>;

Value& constant(Graph& graph, const Ints& values) {
  return graph.add_constant(graph.unique_name("numbers"), at::tensor(values, at::kLong));
}
Value& max_pool(Graph& graph, Value& x) {
  Node& node = graph.add("MaxPool", "f", {&x});
  node.attrs = {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}};
  return node.output();
}
Value& pad(Graph& graph, Value& x) {
  return graph.add("Pad", "f", {&x, &constant(graph, {0, 0, 1, 1, 0, 0, 1, 1})}).output();
}
Value& transpose(Graph& graph, Value& x) {
  Node& node = graph.add("Transpose", "f", {&x});
  node.attrs["perm"] = Ints{0, 2, 3, 1};
  return node.output();
}
Value& reshape(Graph& graph, Value& x) { return graph.add("Reshape", "f", {&x, &constant(graph, {0, -1})}).output(); }
Value& flatten(Graph& graph, Value& x) { return graph.add("Flatten", "f", {&x}).output(); }
Value& slice(Graph& graph, Value& x) {
  return graph.add("Slice", "f", {&x, &constant(graph, {1}), &constant(graph, {4}), &constant(graph, {2})}).output();
}
Value& gather(Graph& graph, Value& x) {
  Node& node = graph.add("Gather", "f", {&x, &constant(graph, {2, 0, 1})});
  node.attrs["axis"] = std::int64_t{1};
  return node.output();
}
Value& squeeze(Graph& graph, Value& x) {
  Value& wide = graph.add("Unsqueeze", "u", {&x, &constant(graph, {1})}).output();
  return graph.add("Squeeze", "f", {&wide, &constant(graph, {1})}).output();
}
Value& resize(Graph& graph, Value& x) {
  Value& scales = graph.add_constant("scales", at::tensor({1.0F, 1.0F, 2.0F, 2.0F}));
  Node& node = graph.add("Resize", "f", {&x, nullptr, &scales});
  node.attrs = {{"mode", std::string("nearest")}};
  return node.output();
}
Value& tile(Graph& graph, Value& x) { return graph.add("Tile", "f", {&x, &constant(graph, {1, 2, 1, 1})}).output(); }
Value& expand(Graph& graph, Value& x) {
  return graph.add("Expand", "f", {&x, &constant(graph, {1, 4, 6, 6})}).output();
}
Value& depth_to_space(Graph& graph, Value& x) {
  Node& node = graph.add("DepthToSpace", "f", {&x});
  node.attrs["blocksize"] = std::int64_t{2};
  return node.output();
}
Value& space_to_depth(Graph& graph, Value& x) {
  Node& node = graph.add("SpaceToDepth", "f", {&x});
  node.attrs["blocksize"] = std::int64_t{2};
  return node.output();
}
Value& concatenate(Graph& graph, Value& x) {
  Node& node = graph.add("Concat", "f", {&x, &x});
  node.attrs["axis"] = std::int64_t{1};
  return node.output();
}
Value& relu(Graph& graph, Value& x) { return graph.add("Relu", "f", {&x}).output(); }
Value& split(Graph& graph, Value& x) {
  Node& node = graph.add("Split", "f", {&x}, 2);
  node.attrs = {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}};
  Node& joined = graph.add("Concat", "g", {node.outputs()[1], node.outputs()[0]});
  joined.attrs["axis"] = std::int64_t{1};
  return joined.output();
}

class MovesCodes : public testing::TestWithParam<Build> {};

// The same numbers to the bit, and nothing between the quantizers computes in float.
TEST_P(MovesCodes, InEveryIntegerType) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({3, 4, 6, 6});
  for (const char* scheme :
       {"uint8 affine tensor", "int8 symmetric tensor", "uint16 affine tensor", "int16 affine tensor"}) {
    const QuantizedModel model = Between{scheme, scheme}(GetParam(), x);
    ConvertRecord record;
    const QuantizedModel int8 = convert(model, {.requantize = "float"}, &record);
    EXPECT_GT(record.moved, 0);
    const std::string ops = ops_of(int8.graph);
    EXPECT_TRUE(record.in_float.empty()) << ops;
    EXPECT_EQ(int8.graph.value("x.fq").dtype(), code_dtype(QScheme::parse(scheme)));
    EXPECT_TRUE(at::equal(run_graph(int8.graph, x), run_graph(model.graph, x))) << ops;
  }
}
INSTANTIATE_TEST_SUITE_P(MoveCodes, MovesCodes,
                         testing::Values(max_pool, pad, transpose, reshape, flatten, slice, gather, squeeze, resize,
                                         tile, expand, depth_to_space, space_to_depth, concatenate, relu, split));

TEST(MoveCodes, PadsWithTheCodeOfZero) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({3, 4, 6, 6});
  const QuantizedModel int8 = convert(Between{}(pad, x));
  const Node* node = int8.graph.find_node("f");
  ASSERT_TRUE(node && node->op() == "Pad");
  EXPECT_EQ(node->input(0)->name(), "x.fq");
  EXPECT_EQ(node->input(2)->tensor().item<int>(), int8.graph.value("x.fq.zero_point").tensor().item<int>());
  EXPECT_NE(node->input(2)->tensor().item<int>(), 0);
}

Value& conv_and_moves(Graph& graph, Value& x) {
  Value& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", at::randn({4, 4, 1, 1}))}).output();
  Value& flat =
      graph.add("Reshape", "flat", {&conv, &graph.add_constant("s", at::tensor({0, 4, 36}, at::kLong))}).output();
  Node& turned = graph.add("Transpose", "f", {&flat});
  turned.attrs["perm"] = std::vector<std::int64_t>{0, 2, 1};
  return turned.output();
}

// Otherwise the Conv stays in float.
TEST(RaiseQuantizers, AboveWhatOnlyMovesTheLayersResult) {
  at::manual_seed(4);
  const at::Tensor x = at::rand({3, 4, 6, 6});
  QuantizedModel model = Between{}(conv_and_moves, x);
  QuantPlan plan = model.plan;
  plan.entries.push_back(plan_entry("w", "int8 symmetric tensor"));
  plan.entries.back().role = Role::kWeight;
  model = insert_quantizers(without_quantizers(model.graph), plan);
  calibrate(model, TensorData(x), {});
  for (const char* rule : {"mlas", "affine", "float"}) {
    const QuantizedModel int8 = convert(model, {.requantize = rule});
    // Whether codes also pass the Identity behind the quantizer is the rule's affair.
    EXPECT_TRUE(ops_of(int8.graph).starts_with("quench.Quantize quench.QConv Reshape Transpose ")) << rule;
    const double step = qparams_of(*quantizer_of(model.graph, "f")).scale[0];
    EXPECT_LE((run_graph(int8.graph, x) - run_graph(model.graph, x)).abs().max().item<double>(), 1.01 * step);
  }
}

TEST(RaiseQuantizers, NotAboveWhatOthersReadToo) {
  at::manual_seed(4);
  const at::Tensor x = at::rand({3, 4, 6, 6});
  QuantizedModel model = Between{}(
      [](Graph& graph, Value& in) -> Value& {
        Value& moved = conv_and_moves(graph, in);
        graph.add_output(graph.add("Neg", "other", {moved.producer()->input(0)}).output());
        return moved;
      },
      x);
  // It rises above the Transpose, and stops where the Neg reads.
  EXPECT_NE(ops_of(convert(model).graph).find("Conv Reshape"), std::string::npos) << ops_of(convert(model).graph);
}

TEST(MoveCodes, EqualTypesNeedNoSecondQuantizer) {
  at::manual_seed(4);
  const at::Tensor x = at::rand({3, 4, 6, 6});
  QuantizedModel two = Between{}(flatten, x);
  // One scale for both.
  const Node *first = quantizer_of(two.graph, "x"), *second = quantizer_of(two.graph, "f");
  two.graph.set_tensor(*second->input(1), first->input(1)->tensor());
  two.graph.set_tensor(*second->input(2), first->input(2)->tensor());
  const QuantizedModel int8 = convert(two, {.requantize = "mlas"});
  EXPECT_EQ(ops_of(int8.graph), "quench.Quantize Flatten quench.Dequantize Identity");
  EXPECT_EQ(int8.graph.find_node("f")->output().name(), "f.fq");
  EXPECT_TRUE(at::equal(run_graph(int8.graph, x), run_graph(two.graph, x)));
}

}  // namespace
}  // namespace quench
