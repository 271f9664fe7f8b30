#include <ATen/ATen.h>

#include <cmath>

#include "kernels/entries.h"
#include "kernels/simd.h"
#include "kernels/statistics.h"
#include "kernels/walk.h"

namespace quench {

std::vector<double> step_errors(const at::Tensor& x, const StepErrorArgs& args) {
  // Data that needs steps of 2^40 may have errors without a square in float32.
  if (args.first < -40) return step_errors_ref(x, args);
  constexpr std::int64_t kBlock = 8192;  // stays in the nearest cache for all steps
  const at::Tensor laid = laid_out(x, QScheme());
  const auto* data = laid.const_data_ptr<float>();
  const std::int64_t length = laid.numel(), blocks = (length + kBlock - 1) / kBlock, count = args.count;
  std::vector<double> parts(static_cast<std::size_t>(blocks * count)), sums(static_cast<std::size_t>(count));
  in_parallel(blocks, kPart / kBlock, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t unit = first * count; unit < last * count; ++unit) {
      const std::int64_t at = unit / count * kBlock;
      const auto exponent = static_cast<int>(args.first + unit % count);
      const StepErrors by{std::ldexp(1.0F, -exponent),
                          std::ldexp(1.0F, exponent),
                          {args.qmin, args.qmax},
                          args.rounding,
                          args.clamp_first};
      parts[static_cast<std::size_t>(unit)] =
          simd().statistics.step_error(data + at, std::min(kBlock, length - at), by);
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
  return sums;
}

}  // namespace quench
