#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ops/checked_op.h"

namespace quench {
namespace {

struct Case {
  const char* op;
  Attrs attrs;
  std::function<double(double)> definition;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<Case> cases() {
  return {
      {"Relu", {}, [](double x) { return std::max(x, 0.0); }},
      {"Sigmoid", {}, sigmoid},
      {"Tanh", {}, [](double x) { return std::tanh(x); }},
      {"LeakyRelu", {{"alpha", 0.2}}, [](double x) { return x < 0 ? 0.2 * x : x; }},
      {"Elu", {{"alpha", 2.0}}, [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }},
      {"Selu",
       {{"alpha", 2.0}, {"gamma", 3.0}},
       [](double x) { return x <= 0 ? 3.0 * (2.0 * std::exp(x) - 2.0) : 3.0 * x; }},
      {"Celu", {{"alpha", 2.0}}, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }},
      {"HardSigmoid", {}, [](double x) { return std::min(1.0, std::max(0.0, 0.2 * x + 0.5)); }},
      {"HardSigmoid",
       {{"alpha", static_cast<double>(1.0F / 6.0F)}},
       [](double x) { return std::min(1.0, std::max(0.0, x / 6 + 0.5)); }},
      {"HardSwish", {}, [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }},
      {"Swish", {}, [](double x) { return x * sigmoid(x); }},
      {"Swish", {{"alpha", 1.7}}, [](double x) { return x * sigmoid(1.7 * x); }},
      {"Mish", {}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Gelu", {}, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"Gelu",
       {{"approximate", "tanh"}},
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"Softplus", {}, [](double x) { return std::log1p(std::exp(x)); }},
      {"Softsign", {}, [](double x) { return x / (1 + std::abs(x)); }},
      {"ThresholdedRelu", {{"alpha", 0.3}}, [](double x) { return x > 0.3 ? x : 0; }},
      {"Erf", {}, [](double x) { return std::erf(x); }},
      {"Shrink",
       {{"lambd", 0.4}, {"bias", 0.1}},
       [](double x) { return x < -0.4  ? x + 0.1
                             : x > 0.4 ? x - 0.1
                                       : 0.0; }},
  };
}

at::Tensor map(const at::Tensor& x, const std::function<double(double)>& function) {
  at::Tensor y = x.to(at::kDouble).clone();
  auto* data = y.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < y.numel(); ++i) data[i] = function(data[i]);
  return y;
}

TEST(Activation, IsItsDefinition) {
  const at::Tensor x = at::randn({64}, at::kDouble) * 2;
  for (const Case& c : cases())
    EXPECT_LT(distance(run_checked(c.op, {x}, c.attrs), map(x, c.definition)), 1e-8) << c.op;
}

TEST(Activation, TakesEveryFloatType) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({64}) * 2;
  for (const Case& c : cases()) {
    // Relative to the greatest result: a few roundings, each of half an ulp (2^-24, 2^-11, 2^-8).
    for (const auto& [type, tolerance] :
         {std::pair{at::kFloat, 1e-5}, std::pair{at::kHalf, 1e-2}, std::pair{at::kBFloat16, 2e-2}}) {
      const at::Tensor rounded = x.to(type), y = run_checked(c.op, {rounded}, c.attrs);
      EXPECT_EQ(y.scalar_type(), type) << c.op;
      const at::Tensor expected = map(rounded, c.definition);
      const double largest = std::max(1.0, expected.abs().max().item<double>());
      EXPECT_LT(distance(y, expected), tolerance * largest) << c.op << " " << c10::toString(type);
    }
  }
}

TEST(Activation, HasItsGradient) {
  const at::Tensor x = at::randn({64}, at::kDouble) * 2;
  for (const Case& c : cases()) EXPECT_LT(gradient_error({c.op, c.attrs}, {x}, 1), 1e-6) << c.op;
  EXPECT_LT(gradient_error({"PRelu", {}}, {x.reshape({2, 4, 8}), at::rand({4, 1}, at::kDouble)}, 2), 1e-6);
  EXPECT_LT(gradient_error({"PRelu", {}}, {x.reshape({2, 4, 8}), at::rand({8}, at::kDouble)}, 2), 1e-6);
}

TEST(PRelu, BroadcastsItsSlope) {
  const at::Tensor x = at::randn({2, 3, 4});
  for (const at::Tensor& slope :
       {at::rand({1}), at::rand({3, 1}), at::rand({4}), at::rand({3, 4}), at::rand({2, 1, 1})})
    EXPECT_EQ(distance(run_checked("PRelu", {x, slope}), at::where(x < 0, x * slope, x)), 0.0);
}

TEST(Clip, TakesEitherBound) {
  const at::Tensor x = at::randn({32}) * 5, low = at::tensor(-1.0F), high = at::tensor(2.0F);
  EXPECT_EQ(distance(run_checked("Clip", {x}), x), 0.0);
  EXPECT_EQ(distance(run_checked("Clip", {x, low}), x.clamp_min(-1)), 0.0);
  EXPECT_EQ(distance(run_checked("Clip", {x, RtValue(), high}), x.clamp_max(2)), 0.0);
  EXPECT_EQ(distance(run_checked("Clip", {x, low, high}), x.clamp(-1, 2)), 0.0);
  EXPECT_EQ(distance(run_checked("Clip", {x, at::tensor(0.0F), at::tensor(6.0F)}), x.clamp(0, 6)), 0.0);
  EXPECT_EQ(distance(run_checked("Clip", {x, high, low}), at::full_like(x, -1.0)), 0.0);  // the upper bound wins
  const at::Tensor u = at::arange(8).to(at::kUInt32);
  EXPECT_EQ(distance(run_checked("Clip", {u, at::tensor(2).to(at::kUInt32), at::tensor(5).to(at::kUInt32)}),
                     at::arange(8).clamp(2, 5)),
            0.0);
}

TEST(Clip, HasTheGradientOfRelu6) {
  const at::Tensor x = at::tensor({-1.0F, 0.0F, 3.0F, 6.0F, 7.0F}).requires_grad_();
  CheckedOp run{"Clip", {}};
  run.grad = true;
  run.result({x, at::tensor(0.0F), at::tensor(6.0F)}).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::tensor({0.0F, 0.0F, 1.0F, 0.0F, 0.0F})));
}

TEST(SwiGLU, GatesTheValue) {
  const at::Tensor gate = at::randn({3, 4}, at::kDouble), x = at::randn({3, 4}, at::kDouble);
  EXPECT_LT(distance(run_checked("SwiGLU", {gate, x}), gate * gate.sigmoid() * x), 1e-12);
  const Attrs alpha{{"alpha", 0.5}};
  EXPECT_LT(distance(run_checked("SwiGLU", {gate, x}, alpha), gate * (gate * 0.5).sigmoid() * x), 1e-12);
  EXPECT_LT(gradient_error({"SwiGLU", alpha}, {gate, x}, 2), 1e-6);
  EXPECT_NE(error_of({"SwiGLU", {}}, {gate, x[0]}).find("must have one shape"), std::string::npos);
  const Dims known = {3, 4}, partly = {Dim::symbol("N"), Dim()};
  EXPECT_EQ(inferred_type("SwiGLU", {TypeInfo::tensor(DType::kFloat, partly), TypeInfo::tensor(DType::kFloat, known)}),
            "float[3, 4]");
}

TEST(Softmax, SumsToOneAlongItsAxis) {
  const at::Tensor x = at::randn({3, 4, 5}, at::kDouble);
  const Attrs axis{{"axis", std::int64_t{1}}};
  const at::Tensor expected = x.exp() / x.exp().sum(1, true);
  EXPECT_LT(distance(run_checked("Softmax", {x}, axis), expected), 1e-12);
  EXPECT_LT(distance(run_checked("LogSoftmax", {x}, axis), expected.log()), 1e-12);
  EXPECT_LT(gradient_error({"Softmax", axis}, {x}, 1), 1e-6);
  EXPECT_LT(gradient_error({"LogSoftmax", axis}, {x}, 1), 1e-6);
}

TEST(Hardmax, TakesTheFirstOfEquals) {
  const at::Tensor x = at::tensor({1.0F, 3.0F, 3.0F, 2.0F}).reshape({1, 4});
  EXPECT_TRUE(at::equal(run_checked("Hardmax", {x}), at::tensor({0.0F, 1.0F, 0.0F, 0.0F}).reshape({1, 4})));
}

}  // namespace
}  // namespace quench
