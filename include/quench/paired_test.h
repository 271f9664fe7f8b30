// How sure an accuracy is, and whether two runs over the same items really differ.
#pragma once

#include <cstdint>
#include <vector>

#include "quench/evaluate.h"

namespace quench {

// The 95 % Wilson interval of a proportion.
Interval wilson_interval(std::int64_t correct, std::int64_t count);

// The paired test of McNemar: only items on which the two runs differ in being right speak.
struct PairedTest {
  std::int64_t items = 0;
  std::int64_t only_first = 0, only_second = 0;  // right in one run alone
  std::int64_t changed = 0;                      // another class predicted, right or wrong
  double p_value = 1.0;                          // exact, two-sided
};
// Throws when the two are not of the same items.
PairedTest compare_predictions(const std::vector<Prediction>& first, const std::vector<Prediction>& second);
double mcnemar_p_value(std::int64_t only_first, std::int64_t only_second);
// The 95 % interval of the first run's accuracy less the second's, item by item (Bonett and Price 2012).
Interval difference_interval(const PairedTest& test);

}  // namespace quench
