#include "platforms/plan/known_functions.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/small_graph.h"
#include "quench/graph.h"

namespace quench {
namespace {

// "GELU" -> the names of its nodes, in order of the graph.
std::map<std::string, std::string> functions_of(const std::string& body) {
  const Graph graph = parse_graph("graph \"g\" {\n" + body + "\n}");
  const std::map<const Node*, std::string> found = known_functions(graph);
  std::map<std::string, std::string> nodes;
  for (const auto& node : graph.nodes())
    if (const auto at = found.find(node.get()); at != found.end())
      nodes[at->second] += (nodes[at->second].empty() ? "" : " ") + node->name();
  return nodes;
}

using Functions = std::map<std::string, std::string>;

const char* const kScalars = R"(
  input %x : float["N", 5, 8]
  const %half : float[] = {0.5}
  const %one : float[] = {1.0}
  const %two : float[] = {2.0}
  const %three : float[] = {3.0}
  const %root2 : float[] = {1.4142135}
  const %cubic : float[] = {0.044715}
  const %root : float[] = {0.7978846}
  const %quick : float[] = {1.702}
  const %eps : float[] = {0.00001}
  const %minus_half : float[] = {-0.5}
  const %last : int64[1] = {-1}
  const %gain : float[8] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}
)";

TEST(KnownFunctions, GeluByErf) {
  // Torch's order, and the one in which Erf's half comes first.
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %d = Div "d" (%x, %root2)
    %e = Erf "e" (%d)
    %a = Add "a" (%e, %one)
    %m = Mul "m" (%x, %a)
    %y = Mul "y" (%m, %half)
    output %y)"),
            (Functions{{"a GELU", "d e a m y"}}));
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %h = Mul "h" (%half, %x)
    %d = Div "d" (%x, %root2)
    %e = Erf "e" (%d)
    %a = Add "a" (%one, %e)
    %y = Mul "y" (%a, %h)
    output %y)"),
            (Functions{{"a GELU", "h d e a y"}}));
}

TEST(KnownFunctions, GeluByTanh) {
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %p = Pow "p" (%x, %three)
    %c = Mul "c" (%p, %cubic)
    %s = Add "s" (%x, %c)
    %r = Mul "r" (%s, %root)
    %t = Tanh "t" (%r)
    %a = Add "a" (%t, %one)
    %h = Mul "h" (%x, %half)
    %y = Mul "y" (%h, %a)
    output %y)"),
            (Functions{{"a GELU", "p c s r t a h y"}}));
  // The cube by products.
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %q = Mul "q" (%x, %x)
    %c = Mul "c" (%q, %cubic)
    %s = Add "s" (%c, %one)
    %u = Mul "u" (%x, %s)
    %r = Mul "r" (%u, %root)
    %t = Tanh "t" (%r)
    %a = Add "a" (%t, %one)
    %b = Mul "b" (%a, %half)
    %y = Mul "y" (%x, %b)
    output %y)"),
            (Functions{{"a GELU", "q c s u r t a b y"}}));
}

TEST(KnownFunctions, GeluBySigmoid) {
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %q = Mul "q" (%x, %quick)
    %s = Sigmoid "s" (%q)
    %y = Mul "y" (%x, %s)
    output %y)"),
            (Functions{{"a GELU", "q s y"}}));
}

TEST(KnownFunctions, Silu) {
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %s = Sigmoid "s" (%x)
    %y = Mul "y" (%s, %x)
    output %y)"),
            (Functions{{"a SiLU", "s y"}}));
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %n = Neg "n" (%x)
    %e = Exp "e" (%n)
    %a = Add "a" (%e, %one)
    %y = Div "y" (%x, %a)
    output %y)"),
            (Functions{{"a SiLU", "n e a y"}}));
}

TEST(KnownFunctions, LayerNorm) {
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %m = ReduceMean "m" (%x, %last) {keepdims = 1}
    %d = Sub "d" (%x, %m)
    %q = Pow "q" (%d, %two)
    %v = ReduceMean "v" (%q, %last) {keepdims = 1}
    %w = Add "w" (%v, %eps)
    %r = Sqrt "r" (%w)
    %n = Div "n" (%d, %r)
    %g = Mul "g" (%n, %gain)
    %y = Add "y" (%g, %gain)
    output %y)"),
            (Functions{{"a LayerNorm", "m d q v w r n g y"}}));
  // The mean of the squares less the square of the mean, and a reciprocal.
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %m = ReduceMean "m" (%x, %last) {keepdims = 1}
    %q = Mul "q" (%x, %x)
    %s = ReduceMean "s" (%q, %last) {keepdims = 1}
    %t = Mul "t" (%m, %m)
    %v = Sub "v" (%s, %t)
    %w = Add "w" (%v, %eps)
    %r = Pow "r" (%w, %minus_half)
    %d = Sub "d" (%x, %m)
    %n = Mul "n" (%d, %r)
    output %n)"),
            (Functions{{"a LayerNorm", "m q s t v w r d n"}}));
}

TEST(KnownFunctions, RmsNorm) {
  for (const char* root : {R"(%r = Sqrt "r" (%w)
    %i = Reciprocal "i" (%r)
    %n = Mul "n" (%x, %i))",
                           R"(%i = Sqrt "i" (%w)
    %n = Div "n" (%x, %i))"})
    EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %q = Mul "q" (%x, %x)
    %v = ReduceMean "v" (%q, %last) {keepdims = 1}
    %w = Add "w" (%v, %eps)
    )" + root + R"(
    %y = Mul "y" (%gain, %n)
    output %y)"),
              (Functions{{"an RMSNorm", std::string(root).starts_with("%r") ? "q v w r i n y" : "q v w i n y"}}));
}

TEST(KnownFunctions, Attention) {
  EXPECT_EQ(functions_of(R"(
    input %q : float["N", 2, 5, 8]
    input %k : float["N", 2, 8, 5]
    input %v : float["N", 2, 5, 8]
    input %mask : float["N", 1, 5, 5]
    const %scale : float[] = {0.125}
    %p = MatMul "p" (%q, %k)
    %s = Mul "s" (%p, %scale)
    %m = Add "m" (%mask, %s)
    %a = Softmax "a" (%m) {axis = -1}
    %y = MatMul "y" (%a, %v)
    output %y)"),
            (Functions{{"an attention", "p s m a y"}}));
  // A classifier's Softmax is none, nor is one whose result no product reads.
  EXPECT_TRUE(functions_of(R"(
    input %q : float["N", 5, 8]
    input %k : float["N", 8, 5]
    const %w : float[5, 1] = {1.0, 2.0, 3.0, 4.0, 5.0}
    %p = MatMul "p" (%q, %k)
    %a = Softmax "a" (%p) {axis = -1}
    %y = MatMul "y" (%a, %w)
    output %y)")
                  .empty());
}

TEST(KnownFunctions, RotaryEmbedding) {
  EXPECT_EQ(functions_of(R"(
    input %x : float["N", 2, 5, 8]
    input %cos : float[5, 8]
    input %sin : float[5, 8]
    const %zero : int64[1] = {0}
    const %middle : int64[1] = {4}
    const %end : int64[1] = {8}
    const %axis : int64[1] = {3}
    %lo = Slice "lo" (%x, %zero, %middle, %axis)
    %hi = Slice "hi" (%x, %middle, %end, %axis)
    %neg = Neg "neg" (%hi)
    %rot = Concat "rot" (%neg, %lo) {axis = 3}
    %c = Mul "c" (%x, %cos)
    %s = Mul "s" (%rot, %sin)
    %y = Add "y" (%s, %c)
    output %y)"),
            (Functions{{"a rotary embedding", "lo hi neg rot c s y"}}));
  EXPECT_EQ(functions_of(R"(
    input %a : float["N", 2, 5, 4]
    input %b : float["N", 2, 5, 4]
    input %cos : float[5, 4]
    input %sin : float[5, 4]
    const %axis : int64[1] = {4}
    %ac = Mul "ac" (%a, %cos)
    %bs = Mul "bs" (%b, %sin)
    %as = Mul "as" (%a, %sin)
    %bc = Mul "bc" (%b, %cos)
    %re = Sub "re" (%ac, %bs)
    %im = Add "im" (%as, %bc)
    %ru = Unsqueeze "ru" (%re, %axis)
    %iu = Unsqueeze "iu" (%im, %axis)
    %y = Concat "y" (%ru, %iu) {axis = 4}
    output %y)"),
            (Functions{{"a rotary embedding", "ac bs as bc re im ru iu y"}}));
}

TEST(KnownFunctions, OperatorsOfTheirOwn) {
  EXPECT_EQ(functions_of(std::string(kScalars) + R"(
    %n = LayerNormalization "n" (%x, %gain)
    %y = Gelu "y" (%n)
    output %y)"),
            (Functions{{"a LayerNorm", "n"}, {"a GELU", "y"}}));
}

// A gate of another tensor, another curve, a mean that normalizes nothing.
TEST(KnownFunctions, OthersAreNotNamed) {
  for (const char* body : {R"(
    input %z : float["N", 5, 8]
    %s = Sigmoid "s" (%z)
    %y = Mul "y" (%x, %s)
    output %y)",
                           R"(
    %q = Mul "q" (%x, %half)
    %s = Sigmoid "s" (%q)
    %y = Mul "y" (%x, %s)
    output %y)",
                           R"(
    %t = Tanh "t" (%x)
    %y = Mul "y" (%t, %x)
    output %y)",
                           R"(
    %m = ReduceMean "m" (%x, %last) {keepdims = 1}
    %y = Div "y" (%x, %m)
    output %y)"})
    EXPECT_TRUE(functions_of(std::string(kScalars) + body).empty()) << body;
}

// The plan names the function as the reason; what is quantized is the same with and without it.
TEST(KnownFunctions, AreReasonsOfAPlan) {
  const Graph graph = parse_graph(std::string("graph \"g\" {") + kScalars + R"(
    const %w : float[8, 8] = {)" + [] {
    std::string numbers = "1.0";
    for (int i = 1; i < 64; ++i) numbers += ", 1.0";
    return numbers;
  }() + R"(}
    %f = MatMul "f" (%x, %w) : float["N", 5, 8]
    %d = Div "d" (%f, %root2) : float["N", 5, 8]
    %e = Erf "e" (%d) : float["N", 5, 8]
    %a = Add "a" (%e, %one) : float["N", 5, 8]
    %m = Mul "m" (%f, %a) : float["N", 5, 8]
    %g = Mul "g" (%m, %half) : float["N", 5, 8]
    %y = MatMul "y" (%g, %w) : float["N", 5, 8]
    output %y
  })");
  for (const char* platform : {"onnxruntime", "openvino", "tensorrt_qdq", "academic_nlp"}) {
    const QuantPlan plan = make_plan(graph, settings_for(platform));
    for (const char* value : {"d", "e", "a", "m"})
      EXPECT_EQ(reason_of(plan, value), "part of a GELU") << platform << " " << value;
    EXPECT_TRUE(plan.find("g")) << platform;
  }
}

}  // namespace
}  // namespace quench
