#include "kernels/statistics/step_errors.h"

#include <ATen/ATen.h>

#include "kernels/entries.h"
#include "kernels/simd/simd.h"
#include "kernels/statistics/statistics_cuda.h"
#include "kernels/statistics/walk.h"

namespace quench {

std::vector<double> step_errors(const at::Tensor& x, const StepErrorArgs& args) {
#ifdef QUENCH_WITH_CUDA
  if (x.is_cuda()) return step_errors_on_cuda(x, args);
#endif
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
      const StepErrors by = step_errors_of(args, exponent);
      parts[static_cast<std::size_t>(unit)] =
          simd().statistics.step_error(data + at, std::min(kBlock, length - at), by);
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
  return sums;
}

}  // namespace quench
