#include "deploy/onnx/lower.h"

#include <gtest/gtest.h>

#include "deploy/lowered.h"

namespace quench {
namespace {

TEST(Lower, RefusesAnOpsetThatItCannotWrite) {
  Graph graph;
  EXPECT_EQ(message_of([&] { lower_graph(graph, 6); }), "opset 6 cannot be written: 7 to 28 can");
  EXPECT_EQ(message_of([&] { lower_graph(graph, 99); }), "opset 99 cannot be written: 7 to 28 can");
}

TEST(Lower, RefusesAnOperatorThatTheOpsetHasNot) {
  EXPECT_EQ(OneNode("Gelu", {Dims{2}}).refused_by(19), "node 'n' (Gelu): opset 19 has no operator Gelu; opset 20 does");
  EXPECT_EQ(OneNode("LayerNormalization", {Dims{2}, Dims{2}}).refused_by(13),
            "node 'n' (LayerNormalization): opset 13 has no operator LayerNormalization; opset 17 does");
  EXPECT_EQ(OneNode("Gelu", {Dims{2}}).lowered_to(20), "out = Gelu(x)");
}

TEST(Lower, RefusesWhatOnnxHasNot) {
  EXPECT_EQ(OneNode("Foo", {Dims{2}}).refused_by(21), "node 'n' (Foo): ONNX has no operator 'Foo'");
  EXPECT_EQ(OneNode("Upsample", {Dims{2}, Dims{1}}).refused_by(21),
            "node 'n' (Upsample): opset 21 has no operator Upsample; opset 7 does");
}

TEST(Lower, LeavesOtherDomainsAlone) {
  EXPECT_EQ(OneNode("quench.FakeQuant", {Dims{2}}, {{"bits", integer(8)}}).lowered_to(13),
            "out = quench.FakeQuant(x) bits=8");
}

TEST(Lower, DropsAttributesThatSayTheDefault) {
  EXPECT_EQ(OneNode("Resize", {Dims{1, 1, 4, 4}, {}, floats({1, 1, 2, 2})},
                    {{"antialias", integer(0)}, {"keep_aspect_ratio_policy", text("stretch")}})
                .lowered_to(17),
            "out = Resize(x, -, {1, 1, 2, 2})");
  EXPECT_EQ(OneNode("Resize", {Dims{1, 1, 4, 4}, {}, floats({1, 1, 2, 2})}, {{"antialias", integer(1)}}).refused_by(17),
            "node 'n' (Resize): Resize of opset 17 has no attribute 'antialias'; opset 18 does");
}

TEST(Lower, RefusesAnAttributeThatNoOpsetHas) {
  EXPECT_EQ(OneNode("Relu", {Dims{2}}, {{"colour", integer(1)}}).refused_by(21),
            "node 'n' (Relu): Relu of opset 21 has no attribute 'colour'; no opset does");
}

TEST(Lower, RefusesTooManyInputs) {
  EXPECT_EQ(OneNode("Relu", {Dims{2}, Dims{2}}).refused_by(21),
            "node 'n' (Relu): Relu of opset 21 does not take 2 inputs; no opset does");
}

TEST(Lower, RefusesTypesThatTheOpsetHasNot) {
  EXPECT_EQ(OneNode("Relu", {DType::kInt32}).refused_by(13),
            "node 'n' (Relu): Relu of opset 13 does not take int32 for input 0 ('x'); opset 14 does");
  EXPECT_EQ(OneNode("DequantizeLinear", {DType::kInt4, DType::kFloat}).refused_by(19),
            "node 'n' (DequantizeLinear): DequantizeLinear of opset 19 does not take int4 for input 0 ('x'); opset 21 "
            "does");
  EXPECT_EQ(
      OneNode("DequantizeLinear", {DType::kUint16, DType::kFloat}).refused_by(20),
      "node 'n' (DequantizeLinear): DequantizeLinear of opset 20 does not take uint16 for input 0 ('x'); opset 21 "
      "does");
  EXPECT_EQ(OneNode("DequantizeLinear", {DType::kFloat8E4M3Fn, DType::kFloat}).refused_by(18),
            "node 'n' (DequantizeLinear): DequantizeLinear of opset 18 does not take float8e4m3fn for input 0 ('x'); "
            "opset 19 does");
  EXPECT_EQ(OneNode("DequantizeLinear", {DType::kInt4, DType::kFloat}).lowered_to(21), "out = DequantizeLinear(x, y)");
}

TEST(Lower, ReachesIntoBodies) {
  auto body = std::make_shared<Graph>();
  Node& inner = body->add("Gelu", "g", {&body->add_input("captured")});
  body->add_output(inner.output());
  OneNode one("If", {DType::kBool, Dims{2}}, {{"then_branch", body}, {"else_branch", std::make_shared<Graph>(*body)}});
  one.node->captures = 1;
  EXPECT_EQ(
      one.refused_by(13),
      "node 'g' (Gelu): opset 13 has no operator Gelu; opset 20 does\n  in the body 'else_branch' of node 'n' (If)");
}

}  // namespace
}  // namespace quench
