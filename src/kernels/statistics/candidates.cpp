#include "kernels/statistics/candidates.h"

#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>

#include <cmath>

#include "quench/error.h"

namespace quench {

float fp8_error(float x, const Candidate& candidate, Format format) {
  const float v = clamp_steps(x * candidate.inverse, candidate.steps);
  const float nearest =
      format == Format::kE4M3Fn ? static_cast<float>(c10::Float8_e4m3fn(v)) : static_cast<float>(c10::Float8_e5m2(v));
  return nearest * candidate.scale - x;
}

double error_term(float x, const Candidate& candidate, const SearchArgs& args) {
  const double error =
      args.scheme.is_int() ? rounding_error(x, candidate) : fp8_error(x, candidate, args.scheme.format());
  return args.power == 2.0 ? error * error : std::pow(std::abs(error), args.power);
}

void check_search(const SearchArgs& args, std::int64_t entries) {
  QUENCH_CHECK(static_cast<std::int64_t>(args.min.size()) == entries && args.max.size() == args.min.size(),
               "a search over ", entries, " entries needs as many ranges, not ", args.min.size(), " minima and ",
               args.max.size(), " maxima");
  QUENCH_CHECK(args.power > 0 && args.power <= 100, "the power of the error must lie above 0 and up to 100, not ",
               args.power);
  QUENCH_CHECK(args.candidates >= 1 && args.candidates <= 100, "a search tries 1 to 100 candidates, not ",
               args.candidates);
  QUENCH_CHECK(args.scheme.format() != Format::kLog, "a range cannot be searched for the scheme '", args.scheme.text(),
               "': its codes do not scale");
}

}  // namespace quench
