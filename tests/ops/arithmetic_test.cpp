#include <gtest/gtest.h>

#include "ops/run_op.h"

namespace quench {
namespace {

at::Tensor typed(std::vector<std::int64_t> values, at::ScalarType type) {
  return at::tensor(values, at::kLong).to(type);
}

TEST(Arithmetic, EveryIntegerTypeAddsMultipliesAndDivides) {
  for (at::ScalarType type :
       {at::kChar, at::kByte, at::kShort, at::kUInt16, at::kInt, at::kUInt32, at::kLong, at::kUInt64}) {
    const at::Tensor a = typed({7, 100, 9}, type), b = typed({2, 20, 9}, type);
    EXPECT_TRUE(at::equal(run_one("Add", {a, b}), typed({9, 120, 18}, type))) << c10::toString(type);
    EXPECT_TRUE(at::equal(run_one("Sub", {a, b}), typed({5, 80, 0}, type))) << c10::toString(type);
    EXPECT_TRUE(at::equal(run_one("Div", {a, b}), typed({3, 5, 1}, type))) << c10::toString(type);
    EXPECT_TRUE(at::equal(run_one("Mod", {a, b}), typed({1, 0, 0}, type))) << c10::toString(type);
    EXPECT_TRUE(at::equal(run_one("Max", {a, b}), a)) << c10::toString(type);
    EXPECT_TRUE(at::equal(run_one("Min", {a, b}), b)) << c10::toString(type);
  }
}

TEST(Arithmetic, DivisionOfIntegersTruncates) {
  const at::Tensor a = typed({-7, 7, -7}, at::kInt), b = typed({2, -2, -2}, at::kInt);
  EXPECT_TRUE(at::equal(run_one("Div", {a, b}), typed({-3, -3, 3}, at::kInt)));
}

TEST(Arithmetic, Uint64AboveInt64KeepsItsOrder) {
  const at::Tensor big = at::tensor(std::vector<std::int64_t>{-1, 5}, at::kLong).view(at::kUInt64);  // 2^64 - 1, 5
  const at::Tensor two = typed({2, 2}, at::kUInt64);
  EXPECT_TRUE(at::equal(run_one("Max", {big, two}), big));
  EXPECT_TRUE(at::equal(run_one("Div", {big, two}).view(at::kLong),
                        at::tensor(std::vector<std::int64_t>{INT64_MAX, 2}, at::kLong)));
  EXPECT_TRUE(at::equal(run_one("Greater", {big, two}), at::tensor({1, 1}).to(at::kBool)));
}

TEST(Arithmetic, ModTakesTheDivisorsSignAndFmodTheDividends) {
  const at::Tensor a = typed({-4, 7, 5}, at::kInt), b = typed({3, -3, 8}, at::kInt);
  EXPECT_TRUE(at::equal(run_one("Mod", {a, b}), typed({2, -2, 5}, at::kInt)));
  EXPECT_TRUE(at::equal(run_one("Mod", {a, b}, {{"fmod", std::int64_t{1}}}), typed({-1, 1, 5}, at::kInt)));
  EXPECT_EQ(reason_of([] { run_one("Mod", {floats({1}), floats({2})}); }),
            "Mod of floating-point tensors needs fmod=1");
}

TEST(Arithmetic, PowKeepsTheTypeOfItsBase) {
  const at::Tensor result = run_one("Pow", {typed({1, 2, 3}, at::kInt), floats({4, 5, 0.5F})});
  EXPECT_TRUE(at::equal(result, typed({1, 32, 1}, at::kInt)));
  EXPECT_EQ(run_one("Pow", {floats({2}), typed({3}, at::kLong)}).scalar_type(), at::kFloat);
}

TEST(Arithmetic, RoundTakesTiesToEven) {
  EXPECT_TRUE(at::equal(run_one("Round", {floats({0.5F, 1.5F, 2.5F, -2.5F, -0.4F})}),
                        at::tensor({0.0F, 2.0F, 2.0F, -2.0F, -0.0F})));
}

TEST(Arithmetic, ShapeArithmeticKeepsSymbols) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8}));
  Value& shape = graph.add("Shape", "shape", {&x}).output();
  Value& four = graph.add_constant("four", at::tensor(std::vector<std::int64_t>{4}, at::kLong));
  Value& product = graph.add("Mul", "product", {&shape, &four}).output();
  Value& back = graph.add("Div", "back", {&product, &four}).output();
  Value& sum = graph.add("Add", "sum", {&product, &four}).output();
  for (Value* value : {&product, &back, &sum}) graph.add_output(*value);
  infer_shapes(graph);
  EXPECT_EQ(text_of(*product.contents), "[4*N, 12, 32]");
  EXPECT_EQ(text_of(*back.contents), "[N, 3, 8]");
  EXPECT_EQ(text_of(*sum.contents), "[?, 16, 36]");
}

TEST(Arithmetic, CumSumExclusiveAndReversed) {
  const RtValue x = floats({1, 2, 3, 4}), axis = RtValue(at::tensor(0, at::kLong).reshape({}));
  const Attrs exclusive = {{"exclusive", std::int64_t{1}}}, reverse = {{"reverse", std::int64_t{1}}};
  EXPECT_TRUE(at::equal(run_one("CumSum", {x, axis}), at::tensor({1.0F, 3.0F, 6.0F, 10.0F})));
  EXPECT_TRUE(at::equal(run_one("CumSum", {x, axis}, exclusive), at::tensor({0.0F, 1.0F, 3.0F, 6.0F})));
  EXPECT_TRUE(at::equal(run_one("CumSum", {x, axis}, reverse), at::tensor({10.0F, 9.0F, 7.0F, 4.0F})));
}

}  // namespace
}  // namespace quench
