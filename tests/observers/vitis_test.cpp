#include "observers/vitis.h"

#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

// docs/numerics.md 6.9 in double: the step of the least squared error of the first exponents, over all data at once.
float best_step(const at::Tensor& x, int candidates) {
  const double v = std::max(x.min().item<double>() / -128, x.max().item<double>() / 127);
  const int first = std::min(static_cast<int>(std::floor(std::log2(1 / v))), 12);
  int best = first;
  double least = INFINITY;
  for (int e = first; e < first + candidates && e <= 12; ++e) {
    const at::Tensor wide = x.to(at::kDouble);
    const at::Tensor y = (wide * std::exp2(e)).round().clamp(-128, 127) * std::exp2(-e);
    const double error = (y - wide).pow(2).sum().item<double>();
    if (error >= least) continue;
    least = error;
    best = e;
  }
  return std::ldexp(1.0F, -best);
}

Options of_type(const char* type) { return {{"type", std::string(type)}}; }

TEST(MinMaxFloorObserver, FindsTheBestOfFiveSteps) {
  at::manual_seed(1);
  for (const float size : {0.01F, 0.7F, 1.0F, 30.0F, 1e6F}) {
    const at::Tensor x = at::cat({at::randn({5000}) * size, at::full({1}, 6 * size)});
    EXPECT_EQ(observed("min_max_floor", "int8 symmetric tensor", {x}).scale[0], best_step(x, 5)) << size;
    EXPECT_EQ(observed("min_max_floor", "int8 symmetric tensor", {x}, of_type("input")).scale[0], best_step(x, 1))
        << size;
  }
}

// D15: over all batches, whatever the order of their ranges.
TEST(MinMaxFloorObserver, IsExactOverAllBatches) {
  at::manual_seed(2);
  for (const float ratio : {0.25F, 1.0F, 7.0F, 3000.0F, 1e7F}) {
    const std::vector<at::Tensor> batches = {at::randn({700}), at::randn({300}) * ratio, at::randn({50}) * 0.5F};
    const float wanted = best_step(at::cat(batches), 5);
    EXPECT_EQ(observed("min_max_floor", "int8 symmetric tensor", batches).scale[0], wanted) << ratio;
    EXPECT_EQ(observed("min_max_floor", "int8 symmetric tensor", {batches[1], batches[0], batches[2]}).scale[0], wanted)
        << ratio;
    EXPECT_EQ(merged("min_max_floor", "int8 symmetric tensor", batches).scale[0], wanted) << ratio;
  }
}

TEST(MinMaxFloorObserver, TinyTensorsGetTheLeastStepOfTheTarget) {
  EXPECT_EQ(observed("min_max_floor", "int8 symmetric tensor", {at::full({4}, 1e-9F)}).scale[0], std::ldexp(1.0F, -12));
}

TEST(MinMaxFloorObserver, TheTypeDecidesTheRounding) {
  const VitisRule param = vitis_rule(QScheme(), "param"), tensor = vitis_rule(QScheme(), "tensor");
  EXPECT_EQ(param.rounding, Rounding::kHalfEven);
  EXPECT_FALSE(param.clamp_first);
  EXPECT_EQ(tensor.rounding, Rounding::kHalfUpNegative);
  EXPECT_TRUE(tensor.clamp_first);
  EXPECT_EQ(vitis_rule(QScheme(), "input").candidates, 1);
  EXPECT_NE(message_of([] { observer_of("min_max_floor", "int8", of_type("params")); }).find("did you mean 'param'"),
            std::string::npos);
}

TEST(FirstExponent, IsTheFloorOfTheLogarithm) {
  const VitisRule rule = vitis_rule(QScheme(), "param");
  EXPECT_EQ(first_exponent(0.0F, 127.0F, rule), 0);
  EXPECT_EQ(first_exponent(0.0F, 127.5F, rule), -1);
  EXPECT_EQ(first_exponent(0.0F, 126.5F, rule), 0);
  EXPECT_EQ(first_exponent(-128.0F, 1.0F, rule), 0);
  EXPECT_EQ(first_exponent(-0.5F, 0.1F, rule), 8);
}

TEST(PotModeObserver, TheMostVotesWin) {
  const auto batch = [](float size) { return at::tensor({-size, size}); };
  // Steps of 1, 2 and 2: first_exponent of 127, 254.
  const std::vector<at::Tensor> batches = {batch(127), batch(254), batch(254)};
  EXPECT_EQ(observed("pot_mode", "int8 symmetric tensor", batches, of_type("input")).scale[0], 2.0F);
  EXPECT_EQ(merged("pot_mode", "int8 symmetric tensor", batches, of_type("input")).scale[0], 2.0F);
  // One vote each: the smallest exponent, the largest step.
  EXPECT_EQ(observed("pot_mode", "int8 symmetric tensor", {batch(127), batch(508)}, of_type("input")).scale[0], 4.0F);
}

TEST(PotModeObserver, EachBatchVotesForItsBestStep) {
  at::manual_seed(3);
  const at::Tensor x = at::cat({at::randn({5000}), at::full({1}, 8.0F)});
  EXPECT_EQ(observed("pot_mode", "int8 symmetric tensor", {x}).scale[0], best_step(x, 5));
}

// D20: the votes are part of the state; any exponent has its own.
TEST(PotModeObserver, SavesItsVotes) {
  const auto first = observer_of("pot_mode", "int8 symmetric tensor", of_type("input"));
  for (const float size : {1e6F, 1e6F, 127.0F}) first->observe(at::tensor({-size, size}));
  const auto second = observer_of("pot_mode", "int8 symmetric tensor", of_type("input"));
  second->load(first->state());
  EXPECT_EQ(second->qparams().scale[0], 8192.0F);  // 2^13: beyond MQBench's 20 slots
  for (int i = 0; i < 2; ++i) second->observe(at::tensor({-127.0F, 127.0F}));
  EXPECT_EQ(second->qparams().scale[0], 1.0F);  // 3 votes to 2
}

void expect_refused(const char* name, std::map<std::string, at::Tensor> state, const std::string& entry,
                    const at::Tensor& lie, const char* why) {
  state[entry] = lie;
  const auto observer = observer_of(name, "int8 symmetric tensor");
  EXPECT_NE(message_of([&] { observer->load(state); }).find(why), std::string::npos) << name << " " << entry;
  EXPECT_FALSE(observer->seen());
}

TEST(PotModeObserver, RefusesAStateThatLies) {
  const auto seen = observer_of("pot_mode", "int8 symmetric tensor");
  seen->observe(at::tensor({-1.0F, 1.0F}));
  const auto integer = [](std::int64_t value) { return at::full({1}, value, at::kLong); };
  for (const std::int64_t exponent : {std::int64_t{13}, std::int64_t{-127}, std::int64_t{1} << 32})
    expect_refused("pot_mode", seen->state(), "exponents", integer(exponent), "an exponent is");
  for (const std::int64_t votes : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX})
    expect_refused("pot_mode", seen->state(), "votes", integer(votes), "votes");
  std::map<std::string, at::Tensor> twice = seen->state();
  twice["votes"] = at::ones({2}, at::kLong);
  expect_refused("pot_mode", twice, "exponents", at::ones({2}, at::kLong), "occurs twice");
}

TEST(MinMaxFloorObserver, RefusesAStateThatLies) {
  const auto seen = observer_of("min_max_floor", "int8 symmetric tensor");
  seen->observe(at::tensor({-1.0F, 1.0F}));
  const std::map<std::string, at::Tensor> state = seen->state();
  for (const std::int64_t exponent : {std::int64_t{13}, std::int64_t{-127}, (std::int64_t{1} << 32) + 7}) {
    const at::Tensor first = state.at("first").clone(), from = first.clone();
    first[0] = exponent;
    from[1] = exponent;
    expect_refused("min_max_floor", state, "first", first, "an exponent is");
    expect_refused("min_max_floor", state, "first", from, "an exponent is");
  }
  expect_refused("min_max_floor", state, "errors", at::ones({200}, at::kDouble), "an exponent is");
  const at::Tensor errors = state.at("errors").clone(), negative = errors.clone();
  errors[0] = NAN;
  negative[0] = -1.0;
  expect_refused("min_max_floor", state, "errors", errors, "an error is nan");
  expect_refused("min_max_floor", state, "errors", negative, "an error is -1");
  expect_refused("min_max_floor", state, "squares", at::full({1}, INFINITY, at::kDouble), "the sum of squares is inf");
}

// Squares of errors beyond float32 (1.8e19) are not infinite, in the search or in what is saved.
TEST(MinMaxFloorObserver, TakesDataWhoseSquaresLeaveFloat) {
  at::manual_seed(4);
  const at::Tensor x = at::cat({at::randn({5000}) * 1e30F, at::full({1}, 6e30F)});
  const auto seen = observer_of("min_max_floor", "int8 symmetric tensor");
  seen->observe(x);
  EXPECT_EQ(seen->qparams().scale[0], best_step(x, 5));
  const auto loaded = observer_of("min_max_floor", "int8 symmetric tensor");
  loaded->load(seen->state());
  EXPECT_EQ(loaded->qparams(), seen->qparams());
}

TEST(PotModeObserver, TakesSymmetricSchemesPerTensorOnly) {
  for (const char* name : {"pot_mode", "min_max_floor"}) {
    EXPECT_NE(message_of([&] { observer_of(name, "uint8 affine"); }).find("symmetric integer schemes only"),
              std::string::npos);
    EXPECT_NE(message_of([&] { observer_of(name, "int8 channel:0"); }).find("per tensor only"), std::string::npos);
  }
}

}  // namespace
}  // namespace quench
