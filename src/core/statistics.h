// Plain statistics of counts.
#pragma once

#include <cstdint>

namespace quench {

// How likely `least` or more of `count` independent events are, each of which has the probability p.
double binomial_tail(std::int64_t least, std::int64_t count, double p);

}  // namespace quench
