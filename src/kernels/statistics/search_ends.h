// Which ranges a search on a histogram tries, and in which order; `error(min, max)` judges one.
#pragma once

#include <limits>

#include "kernels/statistics/candidates.h"

namespace quench {

struct FoundRange {
  float min, max;
  double error;
};

// `apart`: after the best common factor, one end after the other until neither gets better. An end that zero
// replaces in the scale rule is not searched.
template <typename ErrorOf>
FoundRange search_ends(float min, float max, int candidates, bool apart, ErrorOf error_of) {
  FoundRange best{min, max, std::numeric_limits<double>::infinity()};
  const auto consider = [&](float low, float high) {
    const double error = error_of(low, high);
    if (!(error < best.error)) return false;
    best = {low, high, error};
    return true;
  };
  for (int k = 0; k < candidates; ++k) consider(min * shrink_factor(k), max * shrink_factor(k));
  if (!apart || min >= 0.0F || max <= 0.0F) return best;
  const auto search_one = [&](bool lower) {
    const float other = lower ? best.max : best.min;
    bool better = false;
    for (int k = 0; k < candidates; ++k)
      better |= lower ? consider(min * shrink_factor(k), other) : consider(other, max * shrink_factor(k));
    return better;
  };
  search_one(true);
  for (bool lower = false; search_one(lower); lower = !lower) {
  }
  return best;
}

}  // namespace quench
