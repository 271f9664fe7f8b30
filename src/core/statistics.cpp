#include "core/statistics.h"

#include <algorithm>
#include <cmath>

namespace quench {

// In logarithms: counts may be large.
double binomial_tail(std::int64_t least, std::int64_t count, double p) {
  if (least <= 0) return 1.0;
  if (least > count || p <= 0.0) return 0.0;
  if (p >= 1.0) return 1.0;
  const auto n = static_cast<double>(count);
  double tail = 0.0;
  for (std::int64_t k = least; k <= count; ++k) {
    const auto x = static_cast<double>(k);
    const double term = std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) + x * std::log(p) +
                                 (n - x) * std::log1p(-p));
    tail += term;
    if (x > n * p && term < 1e-12 * tail) break;  // terms only shrink beyond the mean
  }
  return std::min(1.0, tail);
}

}  // namespace quench
