// One step of the search for an exponent (kernels/statistics/statistics.h), as the loops take it.
#pragma once

#include <cmath>

#include "kernels/simd/simd_statistics.h"
#include "kernels/statistics/statistics.h"

namespace quench {

inline StepErrors step_errors_of(const StepErrorArgs& args, int exponent) {
  return {
      std::ldexp(1.0F, -exponent), std::ldexp(1.0F, exponent), {args.qmin, args.qmax}, args.rounding, args.clamp_first};
}

}  // namespace quench
