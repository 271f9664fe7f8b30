// The one file that is compiled with OpenMP: at::parallel_for lives in a header and is serial without it.
#include "kernels/parallel.h"

#include <ATen/Parallel.h>

#if !defined(_OPENMP) && !defined(QUENCH_ONE_THREAD)
#error "without OpenMP at::parallel_for runs on one thread"
#endif

namespace quench {

void in_parallel(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  at::parallel_for(0, count, grain, body);
}

}  // namespace quench
