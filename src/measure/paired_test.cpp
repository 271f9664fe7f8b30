// Intervals and the paired test: plain statistics of counts.
#include "quench/paired_test.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "quench/error.h"

namespace quench {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // of 97.5 %

}  // namespace

Interval wilson_interval(std::int64_t correct, std::int64_t count) {
  if (count == 0) return {0.0, 1.0};
  const auto n = static_cast<double>(count);
  const double p = static_cast<double>(correct) / n;
  const double z2 = kNormalQuantile * kNormalQuantile;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormalQuantile * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

// Twice the tail of Binomial(b + c, 1/2) up to the smaller count, in logarithms: counts may be large.
double mcnemar_p_value(std::int64_t only_first, std::int64_t only_second) {
  const auto n = static_cast<double>(only_first + only_second);
  const std::int64_t smaller = std::min(only_first, only_second);
  double tail = 0.0;
  for (std::int64_t k = 0; k <= smaller; ++k) {
    const auto x = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

// Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data":
// one item is added to each of the two cells that differ.
Interval difference_interval(const PairedTest& test) {
  const double n = static_cast<double>(test.items) + 2;
  const double first = static_cast<double>(test.only_first + 1) / n;
  const double second = static_cast<double>(test.only_second + 1) / n;
  const double difference = first - second;
  const double half = kNormalQuantile * std::sqrt((first + second - difference * difference) / n);
  return {std::max(-1.0, difference - half), std::min(1.0, difference + half)};
}

PairedTest compare_predictions(const std::vector<Prediction>& first, const std::vector<Prediction>& second) {
  QUENCH_CHECK(first.size() == second.size(), "the two runs have ", first.size(), " and ", second.size(),
               " items; a paired test needs the same ones");
  std::map<std::int64_t, const Prediction*> by_index;
  for (const Prediction& prediction : second) by_index[prediction.index] = &prediction;
  PairedTest test;
  for (const Prediction& a : first) {
    const auto at = by_index.find(a.index);
    QUENCH_CHECK(at != by_index.end(), "item ", a.index, " ('", a.name, "') is in one of the two runs only");
    const Prediction& b = *at->second;
    QUENCH_CHECK(a.name == b.name && a.label == b.label, "item ", a.index, " is '", a.name, "' with label ", a.label,
                 " in one run and '", b.name, "' with label ", b.label, " in the other: not the same data");
    const bool right_first = a.first == a.label, right_second = b.first == b.label;
    test.only_first += right_first && !right_second ? 1 : 0;
    test.only_second += right_second && !right_first ? 1 : 0;
    test.changed += a.first != b.first ? 1 : 0;
    ++test.items;
  }
  test.p_value = mcnemar_p_value(test.only_first, test.only_second);
  return test;
}

}  // namespace quench
