#include <ATen/ATen.h>

#include <cmath>

#include "kernels/entries.h"
#include "kernels/statistics/statistics.h"

namespace quench {
namespace {

double error_of(float x, float step, const StepErrorArgs& args) {
  const Steps steps{args.qmin, args.qmax};
  const float v = x / step;  // exact: a power of two
  const float code = args.clamp_first ? round_by(clamp_steps(v, steps), args.rounding)
                                      : clamp_steps(round_by(v, args.rounding), steps);
  return static_cast<double>(code * step) - x;
}

}  // namespace

std::vector<double> step_errors_ref(const at::Tensor& x, const StepErrorArgs& args) {
  const at::Tensor laid = laid_out(x, QScheme());
  const auto* data = laid.const_data_ptr<float>();
  std::vector<double> sums;
  for (int e = args.first; e < args.first + args.count; ++e) {
    const float step = std::ldexp(1.0F, -e);
    double sum = 0;
    for (std::int64_t i = 0; i < laid.numel(); ++i) {
      const double error = error_of(data[i], step, args);
      sum += error * error;
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace quench
