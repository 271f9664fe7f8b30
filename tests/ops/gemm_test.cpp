#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"
#include "quench/op.h"

namespace quench {
namespace {

const Attr kOn = std::int64_t{1};

TEST(Gemm, IsLibTorchsLinearBitForBit) {
  const at::Tensor x = at::randn({5, 64}), w = at::randn({10, 64}), b = at::randn({10});
  EXPECT_TRUE(at::equal(run_checked("Gemm", {x, w, b}, {{"transB", kOn}}), at::linear(x, w, b)));
  EXPECT_TRUE(at::equal(run_checked("Gemm", {x, w}, {{"transB", kOn}}), at::linear(x, w)));
}

TEST(Gemm, ScalesAndTransposes) {
  const at::Tensor a = at::randn({4, 3}), b = at::randn({5, 4}), c = at::randn({3, 1});
  const at::Tensor y =
      run_checked("Gemm", {a, b, c}, {{"transA", kOn}, {"transB", kOn}, {"alpha", 0.5}, {"beta", 2.0}});
  EXPECT_LT(distance(y, at::mm(a.t(), b.t()) * 0.5 + c * 2), 1e-5);
  EXPECT_LT(distance(run_checked("Gemm", {a, at::ones({3, 2}), at::tensor(1.0F)}), a.sum(1, true).expand({4, 2}) + 1),
            1e-5);
  const at::Tensor integers = at::arange(4, at::kInt).reshape({2, 2});
  EXPECT_TRUE(at::equal(run_checked("Gemm", {integers, integers}), at::mm(integers, integers)));
}

TEST(Gemm, RefusesWhatIsNoMatrix) {
  EXPECT_NE(error_of({"Gemm", {}}, {at::ones({2}), at::ones({2, 2})}).find("both factors must be matrices"),
            std::string::npos);
}

TEST(MatMul, BroadcastsOverLeadingDims) {
  const at::Tensor a = at::randn({2, 1, 3, 4}), b = at::randn({5, 4, 6}), v = at::randn({4});
  EXPECT_TRUE(at::equal(run_checked("MatMul", {a, b}), at::matmul(a, b)));
  EXPECT_TRUE(at::equal(run_checked("MatMul", {a, v}), at::matmul(a, v)));
  EXPECT_TRUE(at::equal(run_checked("MatMul", {v, b}), at::matmul(v, b)));
  EXPECT_EQ(run_checked("MatMul", {v, v}).dim(), 0);
  const at::Tensor u = at::arange(4, at::kLong).reshape({2, 2});
  EXPECT_TRUE(at::equal(run_checked("MatMul", {u.to(at::kUInt32), u.to(at::kUInt32)}).to(at::kLong), at::mm(u, u)));
}

TEST(MatMul, KnowsItsShapeWeightAxisAndCost) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 7, 16}));
  Node& mul = graph.add("MatMul", "m", {&x, &graph.add_constant("w", at::ones({16, 8}))});
  infer_shapes(graph);
  EXPECT_EQ(mul.output().type().text(), "float[2, 7, 8]");
  EXPECT_EQ(entry_of(mul).traits.macs(mul), 2 * 7 * 8 * 16);
  EXPECT_EQ(entry_of(mul).traits.weight_axis(mul), 1);
  EXPECT_EQ(inferred_type("MatMul", {TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4}),
                                     TypeInfo::tensor(DType::kFloat, {4, Dim::symbol("M")})}),
            "float[N, M]");
}

TEST(MatMul, RefusesFactorsThatDoNotFit) {
  EXPECT_NE(error_of({"MatMul", {}}, {at::ones({2, 3}), at::ones({2, 3})}).find("cannot multiply [2, 3] by [2, 3]"),
            std::string::npos);
}

TEST(MatMulInteger, SubtractsZeroPointsByRowAndColumn) {
  const at::Tensor a = at::randint(0, 256, {3, 4}), b = at::randint(-128, 128, {4, 2});
  const at::Tensor rows = at::tensor({1, 200, 3}), columns = at::tensor({-5, 6});
  const at::Tensor y =
      run_checked("MatMulInteger", {a.to(at::kByte), b.to(at::kChar), rows.to(at::kByte), columns.to(at::kChar)});
  EXPECT_TRUE(at::equal(y, at::mm(a - rows.unsqueeze(1), b - columns).to(at::kInt)));
}

TEST(QLinearMatMul, IsTheFloatProductRounded) {
  const at::Tensor a = at::randint(0, 256, {3, 8}), b = at::randint(0, 256, {8, 2});
  const auto byte = [](int v) { return at::tensor(v).to(at::kByte); };
  const at::Tensor y = run_checked("QLinearMatMul", {a.to(at::kByte), at::tensor(0.02F), byte(110), b.to(at::kByte),
                                                     at::tensor(0.01F), byte(120), at::tensor(0.1F), byte(99)});
  const at::Tensor real = at::mm((a - 110).to(at::kDouble), (b - 120).to(at::kDouble)) * 0.002 + 99;
  EXPECT_LE(distance(y, real.clamp(0, 255)), 0.5 + 1e-4);
}

TEST(Gemm, HasTheGradientOfEveryInput) {
  const auto random = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  EXPECT_LT(gradient_error({"Gemm", {{"transB", kOn}}}, {random({3, 4}), random({5, 4}), random({5})}, 3), 1e-6);
  EXPECT_LT(
      gradient_error({"Gemm", {{"alpha", 0.5}, {"beta", 2.0}}}, {random({3, 4}), random({4, 5}), random({3, 1})}, 3),
      1e-6);
  EXPECT_LT(gradient_error({"MatMul", {}}, {random({2, 3, 4}), random({4, 5})}, 2), 1e-6);
}

}  // namespace
}  // namespace quench
