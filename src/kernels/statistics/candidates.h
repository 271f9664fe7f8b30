// What the range searches share: the grid of candidates and how an element is quantized under one of them.
#pragma once

#include "kernels/statistics/statistics.h"
#include "quant/affine.h"
#include "quant/rule_of.h"

namespace quench {

// docs/numerics.md 6.6: both ends times 1 - 0.01 k; the factor is rounded to float32 as torch does with a Python
// number.
inline float shrink_factor(int k) { return static_cast<float>(1.0 - 0.01 * k); }

struct Candidate {
  float inverse, scale;
  Steps steps;  // codes less the zero point
};

// Where no float32 holds the scale (a range of few bits near FLT_MAX) it is infinite and all errors are NaN: such a
// candidate never wins.
inline Candidate candidate_of(float min, float max, const ScaleRule& rule) {
  const ScaleZero pair = scale_of_range(min, max, rule);
  return {1.0F / pair.scale, pair.scale, {rule.qmin - pair.zero_point, rule.qmax - pair.zero_point}};
}

// x less its quantized self, in float32; integer formats.
inline float rounding_error(float x, const Candidate& candidate) {
  return nearest_step(x * candidate.inverse, candidate.steps) * candidate.scale - x;
}

// The same for fp8.
float fp8_error(float x, const Candidate& candidate, Format format);

// |q(x) - x|^power in float64, for any format that can be searched.
double error_term(float x, const Candidate& candidate, const SearchArgs& args);

// Throws if a search makes no sense: wrong counts, a power that is not positive, the log format.
void check_search(const SearchArgs& args, std::int64_t entries);

}  // namespace quench
