// Plain statistics of counts.
#pragma once

#include <cstdint>

namespace quench {

// The probability that at least `least` of `count` independent events occur, each with probability p.
double binomial_tail(std::int64_t least, std::int64_t count, double p);

}  // namespace quench
