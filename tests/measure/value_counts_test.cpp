#include "measure/value_counts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

// Of a value of [2, 4], quantized by this scheme.
TensorHistogram counted(const std::string& scheme, const QParams& params, const at::Tensor& x, int channel_axis) {
  Graph graph;
  Value& value = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 4}));
  graph.add_output(graph.add("Relu", "y", {&value}).output());
  FakeQuantSpec spec;
  spec.scheme = QScheme::parse(scheme);
  Node& node = insert_fake_quant(graph, value, spec, {false, true});
  set_qparams(node, params);
  ValueCounts counts(node, channel_axis);
  counts.see_range(x);
  counts.count(x);
  return counts.result();
}

at::Tensor up_to_seven() { return at::arange(8, at::kFloat).reshape({2, 4}); }

// Groups of two along the last axis: {0, 1}, {2, 3}, {4, 5}, {6, 7}; codes -8 to 7.
TEST(ValueCounts, EveryGroupHasItsOwnScale) {
  const TensorHistogram found =
      counted("int4 symmetric group:1:2", {{1.0F, 0.25F, 1.0F, 0.5F}, {0, 0, 0, 0}}, up_to_seven(), -1);
  EXPECT_EQ(found.high, (std::vector<float>{7, 1.75F, 7, 3.5F}));
  EXPECT_EQ(found.low, (std::vector<float>{-8, -2, -8, -4}));
  EXPECT_EQ(found.channel_max, (std::vector<float>{1, 3, 5, 7}));
  EXPECT_EQ(found.lost, 4);  // 2 and 3 beyond 1.75, 6 and 7 beyond 3.5
}

TEST(ValueCounts, ATensorWithoutChannelsHasNoRangesOfThem) {
  const TensorHistogram found = counted("int8 symmetric tensor", {{1.0F}, {0}}, up_to_seven(), -1);
  EXPECT_TRUE(found.channel_min.empty());
  EXPECT_EQ(found.lost, 0);
}

TEST(ValueCounts, OneScaleForAllStillShowsTheChannels) {
  const TensorHistogram found = counted("int8 symmetric tensor", {{1.0F}, {0}}, up_to_seven(), 0);
  EXPECT_EQ(found.channel_min, (std::vector<float>{0, 4}));
  EXPECT_EQ(found.channel_max, (std::vector<float>{3, 7}));
  EXPECT_EQ(found.low.size(), 1U);
}

TEST(ValueCounts, EqualValuesShareABin) {
  const TensorHistogram found = counted("int8 symmetric tensor", {{1.0F}, {0}}, at::full({2, 4}, 3.0F), -1);
  EXPECT_EQ(found.counts.front(), 8);
  EXPECT_EQ(found.min, found.max);
}

TEST(ValueCounts, AnEmptyTensorIsNotSeen) {
  EXPECT_EQ(counted("int8 symmetric tensor", {{1.0F}, {0}}, at::empty({0, 4}), -1).elements, 0);
}

}  // namespace
}  // namespace quench
