// Functions composed from several operators, at the arguments where that is hard: as LibTorch computes them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <functional>
#include <limits>

#include "quench/executor.h"
#include "quench/torch.h"

namespace quench {
namespace {

using Function = std::function<at::Tensor(const at::Tensor&)>;

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Wrapped : torch::nn::Module {
  explicit Wrapped(Function f) : function(std::move(f)) {}
  at::Tensor forward(const at::Tensor& x) { return function(x); }
  Function function;
};

// Six roundings or so, each of at most 2^-24 of the value, and functions to a few units in the last place on both
// sides: 16 * 2^-24. A wrong sign of a zero is seen by the reciprocals.
void expect_as_libtorch(const Function& function, const at::Tensor& x) {
  Wrapped module(function);
  const Graph graph = from_module(module, {at::rand({3, x.size(1)})});
  const at::Tensor expected = function(x), actual = Executor(graph).run({RtValue(x)})[0].tensor();
  EXPECT_TRUE(at::allclose(actual, expected, 16 * 0x1p-24, 0.0, true)) << at::stack({x.select(1, 0), expected, actual});
  const at::Tensor zeros = expected == 0;
  EXPECT_TRUE(at::equal(actual.masked_select(zeros).reciprocal(), expected.masked_select(zeros).reciprocal()));
}

at::Tensor magnitudes(double most) { return at::logspace(-12, std::log10(most), 200).unsqueeze(1); }

TEST(AtenFunctions, Expm1KeepsTheDigitsOfSmallArguments) {
  const at::Tensor x = magnitudes(10), special = at::tensor({0.0, -0.0, kInf, -kInf, 1.0, -1.0}).to(at::kFloat);
  expect_as_libtorch([](const at::Tensor& v) { return v.expm1().select(1, 0); },
                     at::cat({x, -x, special.unsqueeze(1)}));
}

TEST(AtenFunctions, Log1pKeepsTheDigitsOfSmallArguments) {
  const at::Tensor special = at::tensor({0.0, -0.0, kInf, 3e38, -1.0, -2.0}).to(at::kFloat);
  expect_as_libtorch([](const at::Tensor& v) { return v.log1p().select(1, 0); },
                     at::cat({magnitudes(10), -magnitudes(0.99), special.unsqueeze(1)}));
}

TEST(AtenFunctions, Atan2KnowsZerosAndInfinities) {
  const at::Tensor values = at::tensor({0.0, -0.0, 1.0, -2.0, 1e-30, -1e30, kInf, -kInf, kInf - kInf}).to(at::kFloat);
  expect_as_libtorch([](const at::Tensor& v) { return at::atan2(v.select(1, 0), v.select(1, 1)); },
                     at::cartesian_prod({values, values}));
}

TEST(AtenFunctions, EmbeddingBagCountsItsPaddingFromTheEnd) {
  const at::Tensor table = at::arange(1, 9, at::kFloat).view({4, 2}), starts = at::tensor({0, 3}, at::kLong);
  const at::Tensor x = at::tensor({0.1, 0.8, 0.3, 0.9, 0.6, 0.99}).to(at::kFloat).unsqueeze(1);
  for (const std::int64_t padding : {-1, -2, 1})
    expect_as_libtorch(
        [&](const at::Tensor& v) {
          const at::Tensor rows = (v.select(1, 0) * 4).to(at::kLong);
          return std::get<0>(at::embedding_bag(table, rows, starts, false, 0, false, {}, false, padding));
        },
        x);
}

}  // namespace
}  // namespace quench
