#include "observers/vitis.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "quench/error.h"

namespace quench {
namespace {

// A step this many times the smallest one that holds the data rounds all of it to zero: |x| <= 2^(bits-1) s and a
// step of 2^bits s gives at most 1/2, which goes to even.
int window_below(const VitisRule& rule) {
  return static_cast<int>(std::ceil(std::log2(std::max(rule.qmax, -rule.qmin)))) + 2;
}

}  // namespace

VitisRule vitis_rule(const QScheme& scheme, const std::string& type) {
  if (type != "input" && type != "param" && type != "tensor")
    fail_unknown_name("value of 'type'", type, {"input", "param", "tensor"});
  const bool is_param = type == "param";
  return {static_cast<float>(scheme.qmin()), static_cast<float>(scheme.qmax()),
          is_param ? Rounding::kHalfEven : Rounding::kHalfUpNegative, !is_param, type == "input" ? 1 : 5};
}

OptionInfo vitis_type_option(const char* fallback) {
  return {"type", fallback, "quant type: input, param or tensor (rounding at ties, exponents tried)"};
}

int first_exponent(float min, float max, const VitisRule& rule) {
  const float below = rule.qmin < 0 ? min / rule.qmin : 0.0F;
  const float v = std::max(below, rule.qmax > 0 ? max / rule.qmax : 0.0F);
  // Below 2^-15 MQBench takes the step 1, which flattens the tensor; here it is the least step (docs/numerics.md 6.9).
  if (v < std::ldexp(1.0F, -15)) return kVitisMostExponent;
  int exponent = 0;
  const float mantissa = std::frexp(v, &exponent);  // v = m 2^e, m in [1/2, 1): log2(1/v) in (-e, 1 - e]
  return std::clamp(mantissa == 0.5F ? 1 - exponent : -exponent, kVitisLeastExponent, kVitisMostExponent);
}

int checked_exponent(std::int64_t exponent) {
  QUENCH_CHECK(exponent >= kVitisLeastExponent && exponent <= kVitisMostExponent, "an exponent is ", exponent,
               "; steps are 2^-e with e from ", kVitisLeastExponent, " to ", kVitisMostExponent);
  return static_cast<int>(exponent);
}

void ExponentErrors::add(const at::Tensor& x, float min, float max) {
  const int first = first_exponent(min, max, rule_);
  const int from = std::max(first - window_below(rule_), kVitisLeastExponent);
  const int last = std::min(first + rule_.candidates - 1, kVitisMostExponent);
  const std::vector<double> sums =
      step_errors(x, {rule_.qmin, rule_.qmax, rule_.rounding, rule_.clamp_first, from, last - from + 1});
  std::map<int, double> errors;
  for (int e = from; e <= last; ++e) errors[e] = sums[static_cast<std::size_t>(e - from)];
  at::Tensor sum, squares, absolute;
  moments(x, QScheme(), sum, squares, absolute);
  combine(errors, squares.item<double>(), first);
}

void ExponentErrors::add_all(const Statistic& other, const BatchCounts&) {
  const auto& theirs = static_cast<const ExponentErrors&>(other);
  if (!theirs.errors_.empty()) combine(theirs.errors_, theirs.squares_, theirs.first_);
}

void ExponentErrors::combine(const std::map<int, double>& errors, double squares, int first) {
  if (errors_.empty()) {
    errors_ = errors;
    squares_ = squares;
    first_ = first;
    return;
  }
  const int from = std::min(errors_.begin()->first, errors.begin()->first);
  const int last = std::min(errors_.rbegin()->first, errors.rbegin()->first);  // finer ones cannot win any more
  std::map<int, double> both;
  for (int e = from; e <= last; ++e) {
    both[e] = (errors_.contains(e) ? errors_.at(e) : squares_) + (errors.contains(e) ? errors.at(e) : squares);
  }
  errors_ = both;
  squares_ += squares;
  first_ = std::min(first_, first);
}

int ExponentErrors::best() const {
  const int last = std::min(first_ + rule_.candidates - 1, kVitisMostExponent);
  int best = first_;
  for (int e = first_; e <= last; ++e)
    if (errors_.at(e) < errors_.at(best)) best = e;
  return best;
}

void ExponentErrors::clear() {
  errors_.clear();
  squares_ = 0;
  first_ = 0;
}

void ExponentErrors::save(State& state) const {
  std::vector<double> errors;
  for (const auto& [exponent, error] : errors_) errors.push_back(error);
  state["first"] = state_of(std::vector<std::int64_t>{first_, errors_.begin()->first});
  state["squares"] = state_of(std::vector<double>{squares_});
  state["errors"] = state_of(errors);
}

void ExponentErrors::restore(const State& state, std::size_t) {
  clear();
  const std::vector<std::int64_t> first = integers_of(state, "first");
  QUENCH_CHECK(first.size() == 2, "the entry 'first' has ", first.size(), " values, not 2");
  first_ = checked_exponent(first[0]);
  std::int64_t exponent = checked_exponent(first[1]);
  for (const double error : doubles_of(state, "errors")) {
    QUENCH_CHECK(std::isfinite(error) && error >= 0, "an error is ", error);
    errors_[checked_exponent(exponent++)] = error;
  }
  squares_ = doubles_of(state, "squares", 1)[0];
  QUENCH_CHECK(std::isfinite(squares_) && squares_ >= 0, "the sum of squares is ", squares_);
  const int last = std::min(first_ + rule_.candidates - 1, kVitisMostExponent);
  QUENCH_CHECK(errors_.contains(first_) && errors_.contains(last), "the entry 'errors' lacks the exponents ", first_,
               " to ", last);
}

}  // namespace quench
