// What min_max_floor and pot_mode share: power-of-two steps as Vitis finds them. docs/numerics.md 5.7, 6.9.
#pragma once

#include <map>
#include <string>

#include "kernels/statistics/statistics.h"
#include "quench/statistic.h"

namespace quench {

struct VitisRule {
  float qmin, qmax;
  Rounding rounding;
  bool clamp_first;
  int candidates;  // exponents tried from the first on
};

constexpr int kVitisMostExponent = 12;     // the least step is 2^-12
constexpr int kVitisLeastExponent = -126;  // a step of 2^126: no float32 asks for a larger one

// Of a file: throws unless it is one of the above.
int checked_exponent(std::int64_t exponent);

// `type`: input, param or tensor.
VitisRule vitis_rule(const QScheme& scheme, const std::string& type);
OptionInfo vitis_type_option(const char* fallback);

// The exponent e whose step 2^-e just holds the range: floor(log2(1 / v)) with v = max(min / qmin, max / qmax).
int first_exponent(float min, float max, const VitisRule& rule);

// Sums of squared errors of data seen so far, for the exponents that may still win: those from `bits` below
// first_exponent() on. Further below everything rounds to zero, so that the error is the sum of squares.
class ExponentErrors : public Statistic {
 public:
  explicit ExponentErrors(const VitisRule& rule) : rule_(rule) {}
  void add(const at::Tensor& x, float min, float max);
  int best() const;  // the least error; the first one on equality

  void add_all(const Statistic& other, const BatchCounts& batches) override;
  void clear() override;
  void save(State& state) const override;
  void restore(const State& state, std::size_t entries) override;

 private:
  void combine(const std::map<int, double>& errors, double squares, int first);

  VitisRule rule_;
  int first_ = 0;  // exponent of the range of all data
  double squares_ = 0;
  std::map<int, double> errors_;  // consecutive exponents; empty: nothing seen
};

}  // namespace quench
