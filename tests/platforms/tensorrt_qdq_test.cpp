#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

// resnet18: the input, the stem's output (read by MaxPool), MaxPool's output; per block the first Conv's output and
// the block's (8 x 2), the second Conv absorbs the Add; three downsampling Convs, whose outputs are the Adds' other
// operands; what Gemm reads: 1 + 1 + 1 + 16 + 3 + 1 = 23.
// mobilenet_v2: the input; the stem, the first block's depthwise Conv and its output; 16 blocks of 3 (expanded,
// depthwise, the block's output); the last Conv (read by the pool); what Gemm reads: 1 + 3 + 48 + 1 + 1 = 54.
TEST(TensorrtQdq, Counts) {
  EXPECT_EQ(counts("tensorrt_qdq", "resnet18"), (Counts{23, 21}));
  EXPECT_EQ(counts("tensorrt_qdq", "mobilenet_v2"), (Counts{54, 53}));
}

TEST(TensorrtQdq, RefusesZeroPoints) {
  QuantConfig config;
  config.platform = "trt";
  config.activation.symmetric = false;
  try {
    make_plan(zoo_graph("resnet18"), config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("cannot run affine activations (symmetric only)"), std::string::npos)
        << error.what();
  }
}

TEST(TensorrtQdq, BranchesOfAConcatShareItsScale) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 4, 8, 8]
    %relu = Relu "relu" (%x) : float[1, 4, 8, 8]
    %both = Concat "both" (%x, %relu) {axis = 1} : float[1, 8, 8, 8]
    output %both
  })");
  QuantConfig config;
  config.platform = "tensorrt_qdq";
  const QuantPlan plan = make_plan(graph, config);
  ASSERT_TRUE(plan.find("relu"));
  EXPECT_EQ(plan.find("relu")->shared_with, "both");
  EXPECT_EQ(plan.find("x")->shared_with, "both");
  EXPECT_EQ(plan.find("both")->shared_with, "");
}

// Linear layers and scores are products of codes; attention times values is not, nor is the residual stream.
TEST(TensorrtQdq, PlansAttention) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 32, 32]
    input %narrow : float[1, 3, 8]
    const %ones : float[] = {1.0}
    const %size : int64[2] = {32, 32}
    %q.weight = Expand "q.weight" (%ones, %size)
    %stream = Exp "stream" (%x)
    %q = MatMul "q" (%stream, %q.weight)
    %k = Transpose "k" (%q) {perm = ints[0, 2, 1]}
    %scores = MatMul "scores" (%q, %k)
    %attention = Softmax "attention" (%scores)
    %values = MatMul "values" (%attention, %q)
    %residual = Add "residual" (%stream, %values)
    %turned = Transpose "turned" (%narrow) {perm = ints[0, 2, 1]}
    %small = MatMul "small" (%narrow, %turned)
    output %residual
    output %small
  })");
  infer_shapes(graph);
  QuantConfig config;
  config.platform = "tensorrt_qdq";
  const QuantPlan plan = make_plan(graph, config);
  EXPECT_EQ(text_of(plan),
            "q.weight: int8 symmetric channel:1 narrow\nstream: int8 symmetric tensor\n"
            "q: int8 symmetric tensor\nk: int8 symmetric tensor\n");
  EXPECT_NE(explain(plan, "attention").find("symmetric codes would waste half"), std::string::npos);
  EXPECT_NE(explain(plan, "small").find("sums 8 products"), std::string::npos);
  EXPECT_NE(explain(plan, "residual").find("'residual' joins"), std::string::npos);
}

}  // namespace
}  // namespace quench
