#include "quench/model_size.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

Graph chain() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 2, 4, 4}));
  Value& w = graph.add_constant("w", at::ones({8, 2, 1, 1}));
  Value& b = graph.add_constant("b", at::ones({8}));
  Node& conv = graph.add("Conv", "conv", {&x, &w, &b});
  Node& relu = graph.add("Relu", "relu", {&conv.output()});
  Node& pool = graph.add("GlobalAveragePool", "pool", {&relu.output()});
  graph.add_output(pool.output());
  return graph;
}

PlanEntry weight(const char* scheme) {
  PlanEntry entry;
  entry.value = "w";
  entry.role = Role::kWeight;
  entry.scheme = QScheme::parse(scheme);
  return entry;
}

TEST(WeightSize, CountsPackedCodesScalesAndWhatStaysFloat) {
  QuantPlan plan;
  EXPECT_EQ(weight_size(chain(), plan).float_bytes, (16 + 8) * 4);
  EXPECT_EQ(weight_size(chain(), plan).quantized_bytes, (16 + 8) * 4);
  plan.entries = {weight("int8 symmetric channel:0")};
  EXPECT_EQ(weight_size(chain(), plan).quantized_bytes, 16 + 8 * 4 + 8 * 4);  // codes, scales, bias
  plan.entries = {weight("uint4 affine tensor")};
  EXPECT_EQ(weight_size(chain(), plan).quantized_bytes, 8 + 4 + 1 + 8 * 4);  // codes, scale, zero point, bias
  EXPECT_EQ(weight_size(chain(), plan).quantized_elements, 16);
  // The sizes are those of the file that is written.
  plan.entries = {weight("int7 symmetric tensor")};
  EXPECT_EQ(weight_size(chain(), plan).quantized_bytes, 16 + 4 + 8 * 4);
  plan.entries = {weight("int3 symmetric tensor")};
  EXPECT_EQ(weight_size(chain(), plan).quantized_bytes, 8 + 4 + 8 * 4);
}

// At the worst moment the Relu reads and writes [3, 8, 4, 4]; x is dead by then.
TEST(ActivationNeed, IsTheWorstMoment) {
  const ActivationNeed need = activation_need(chain(), 3);
  EXPECT_EQ(need.peak_bytes, 2 * 3 * 8 * 4 * 4 * 4);
  EXPECT_EQ(need.unknown, 0);
}

}  // namespace
}  // namespace quench
