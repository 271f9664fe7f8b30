#include <gtest/gtest.h>

#include "ops/run_op.h"

namespace quench {
namespace {

TEST(Gather, CountsNegativeIndicesFromTheEnd) {
  const at::Tensor x = at::arange(12.0F).reshape({3, 4});
  EXPECT_TRUE(at::equal(run_one("Gather", {x, ints({-1, 0})}), x.index_select(0, ints({2, 0}).tensor())));
  EXPECT_EQ(run_one("Gather", {x, RtValue(at::zeros({2, 5}, at::kInt))}, {{"axis", std::int64_t{1}}}).sizes(),
            at::IntArrayRef({3, 2, 5}));
  EXPECT_EQ(reason_of([&] { run_one("Gather", {x, ints({3})}); }), "index 3 is out of range for a dim of size 3");
  EXPECT_EQ(reason_of([&] { run_one("Gather", {x, ints({-4})}); }), "index -4 is out of range for a dim of size 3");
}

TEST(Gather, MovesEveryElementType) {
  for (at::ScalarType type : {at::kUInt16, at::kUInt32, at::kUInt64, at::kFloat8_e4m3fn, at::kBool, at::kBFloat16}) {
    const at::Tensor x = at::tensor({1.0F, 0.0F}).to(type);
    const at::Tensor expected = at::tensor({0.0F, 1.0F});
    EXPECT_TRUE(at::equal(run_one("Gather", {x, ints({1, 0})}).to(at::kFloat), expected)) << c10::toString(type);
    EXPECT_TRUE(at::equal(run_one("GatherElements", {x, ints({1, 0})}).to(at::kFloat), expected));
    EXPECT_TRUE(at::equal(run_one("ScatterElements", {x, ints({1, 0}), x}).to(at::kFloat), expected));
  }
}

TEST(Gather, GatherNdWithBatchDims) {
  const at::Tensor x = at::arange(8.0F).reshape({2, 2, 2});
  const RtValue indices = at::tensor(std::vector<std::int64_t>{1, 0}, at::kLong).reshape({2, 1});
  EXPECT_TRUE(at::equal(run_one("GatherND", {x, indices}, {{"batch_dims", std::int64_t{1}}}),
                        at::tensor({2.0F, 3.0F, 4.0F, 5.0F}).reshape({2, 2})));
}

TEST(Scatter, CombinesByEachReduction) {
  const RtValue x = floats({1, 2, 3}), indices = ints({1, 1, -1}), updates = floats({10, 20, 0.5F});
  const auto by = [&](const char* reduction) {
    return run_one("ScatterElements", {x, indices, updates}, {{"reduction", std::string(reduction)}});
  };
  EXPECT_TRUE(at::equal(by("add"), at::tensor({1.0F, 32.0F, 3.5F})));
  EXPECT_TRUE(at::equal(by("mul"), at::tensor({1.0F, 400.0F, 1.5F})));
  EXPECT_TRUE(at::equal(by("max"), at::tensor({1.0F, 20.0F, 3.0F})));
  EXPECT_TRUE(at::equal(by("min"), at::tensor({1.0F, 2.0F, 0.5F})));
  EXPECT_EQ(reason_of([&] { by("mean"); }), "reduction must be none, add, mul, max or min, not 'mean'");
}

TEST(Scatter, ScatterNdAddsSlicesWithGradients) {
  const at::Tensor x = at::zeros({3, 2}).requires_grad_(), updates = at::ones({2, 2}).requires_grad_();
  const RtValue indices = at::tensor(std::vector<std::int64_t>{2, 2}, at::kLong).reshape({2, 1});
  const Graph graph = one_node("ScatterND", {x, indices, updates}, {{"reduction", std::string("add")}});
  ExecOptions options;
  options.grad = true;
  Executor executor(graph, options);
  const at::Tensor y = executor.run({x, indices, updates})[0].tensor();
  EXPECT_TRUE(at::equal(y.detach(), at::tensor({0.0F, 0.0F, 0.0F, 0.0F, 2.0F, 2.0F}).reshape({3, 2})));
  y.sum().backward();
  EXPECT_TRUE(at::equal(updates.grad(), at::ones({2, 2})));
}

}  // namespace
}  // namespace quench
