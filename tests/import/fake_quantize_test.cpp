#include "import/onnx/fake_quantize.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/graph.h"

namespace quench {
namespace {

// x -> FakeQuantize -> Relu, with these ends before and after.
Graph file(const at::Tensor& low, const at::Tensor& high, std::int64_t levels, const at::Tensor& low_after = {}) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3, 4, 4}));
  const auto constant = [&](const char* name, const at::Tensor& tensor) { return &graph.add_constant(name, tensor); };
  Node& node = graph.add("org.openvinotoolkit.FakeQuantize", "x.fq",
                         {&x, constant("il", low), constant("ih", high),
                          constant("ol", low_after.defined() ? low_after : low), constant("oh", high)});
  node.attrs["levels"] = levels;
  graph.add_output(graph.add("Relu", "relu", {&node.output()}).output());
  return graph;
}

const Node& read(Graph& graph) {
  read_fake_quantize(graph);
  return *graph.find_node("x.fq");
}

TEST(FakeQuantize, BecomesAGridWithItsZero) {
  Graph graph = file(at::tensor({-1.28F}), at::tensor({1.27F}), 256);
  const Node& node = read(graph);
  EXPECT_EQ(node.op(), "FixedPerTensorAffine");
  ASSERT_EQ(node.inputs().size(), 5U);
  EXPECT_NEAR(node.input(1)->tensor().item<float>(), 0.01, 1e-8);
  EXPECT_EQ(node.input(2)->tensor().item<int>(), 128);
  EXPECT_EQ(node.input(3)->tensor().item<int>(), 0);
  EXPECT_EQ(node.input(4)->tensor().item<int>(), 255);
  EXPECT_EQ(graph.find_value("il"), nullptr);
}

TEST(FakeQuantize, OfNarrowRangesHasBothSigns) {
  Graph graph = file(at::tensor({-1.27F}), at::tensor({1.27F}), 255);
  const Node& node = read(graph);
  EXPECT_EQ(node.input(2)->tensor().item<int>(), 0);
  EXPECT_EQ(node.input(3)->tensor().item<int>(), -127);
  EXPECT_EQ(node.input(4)->tensor().item<int>(), 127);
}

TEST(FakeQuantize, OfChannelsHasTheirAxis) {
  const at::Tensor high = at::tensor({127.0F, 254.0F, 63.5F}).reshape({3, 1, 1});
  Graph graph = file(-high / 127 * 128, high, 256);
  const Node& node = read(graph);
  EXPECT_EQ(node.op(), "FixedPerChannelAffine");
  EXPECT_TRUE(at::allclose(node.input(1)->tensor(), at::tensor({1.0F, 2.0F, 0.5F})));
  EXPECT_EQ(node.input(3)->tensor().item<int>(), 1);
}

TEST(FakeQuantize, ThatIsNoQuantizerOfOursStays) {
  const auto op = [](Graph graph) { return read(graph).op(); };
  const at::Tensor low = at::tensor({-1.0F}), high = at::tensor({1.0F});
  EXPECT_EQ(op(file(low, high, 256)), "org.openvinotoolkit.FakeQuantize") << "zero lies between two codes";
  EXPECT_EQ(op(file(at::tensor({0.0F}), high, 256)), "FixedPerTensorAffine");
  EXPECT_EQ(op(file(at::tensor({0.0F}), high, 100)), "org.openvinotoolkit.FakeQuantize");
  EXPECT_EQ(op(file(at::tensor({0.5F}), high, 256)), "org.openvinotoolkit.FakeQuantize") << "zero has no code";
  EXPECT_EQ(op(file(at::tensor({0.0F}), high, 256, low)), "org.openvinotoolkit.FakeQuantize") << "another range after";
}

}  // namespace
}  // namespace quench
