#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"
#include "quench/op.h"

namespace quench {
namespace {

at::Tensor longs(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }

TEST(Unique, OrdersAndCountsWhatItFinds) {
  const auto results = CheckedOp{"Unique", {}, 4}({at::tensor({2.0F, 1.0F, 1.0F, 3.0F, 2.0F})});
  EXPECT_TRUE(at::equal(results[0].tensor(), at::tensor({1.0F, 2.0F, 3.0F})));
  EXPECT_TRUE(at::equal(results[1].tensor(), longs({1, 0, 3})));
  EXPECT_TRUE(at::equal(results[2].tensor(), longs({1, 0, 0, 2, 1})));
  EXPECT_TRUE(at::equal(results[3].tensor(), longs({2, 2, 1})));
}

// 1+2i and 1+1i differ in the imaginary part alone.
TEST(Unique, OrdersComplexNumbersByBothParts) {
  const at::Tensor x = at::complex(at::tensor({1.0F, 1.0F, 0.0F, 1.0F}), at::tensor({2.0F, 1.0F, 5.0F, 2.0F}));
  const at::Tensor y = run_checked("Unique", {x});
  EXPECT_TRUE(at::equal(y, at::complex(at::tensor({0.0F, 1.0F, 1.0F}), at::tensor({5.0F, 1.0F, 2.0F}))));
}

TEST(Unique, KnowsHowManyPlacesItGives) {
  Graph graph;
  Node& node = graph.add("Unique", "node", {&graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}))}, 4);
  infer_shapes(graph);
  EXPECT_EQ(node.output(0).type().text(), "float[?]");
  EXPECT_EQ(node.output(2).type().text(), "int64[6]");
  node.attrs["axis"] = std::int64_t{-1};
  infer_shapes(graph);
  EXPECT_EQ(node.output(0).type().text(), "float[2, ?]");
  EXPECT_EQ(node.output(2).type().text(), "int64[3]");
}

TEST(Compress, LeavesOutWhatAShortConditionDoesNotReach) {
  const at::Tensor x = at::arange(6.0F).reshape({2, 3});
  const at::Tensor condition = at::tensor({0, 1}).to(at::kBool);
  EXPECT_TRUE(at::equal(run_checked("Compress", {x, condition}, {{"axis", std::int64_t{1}}}), x.narrow(1, 1, 1)));
  EXPECT_TRUE(at::equal(run_checked("Compress", {x, condition}), at::tensor({1.0F})));
}

}  // namespace
}  // namespace quench
