#include "kernels/walk.h"

#include <ATen/Parallel.h>

namespace quench {

void in_parallel(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  at::parallel_for(0, count, grain, body);
}

}  // namespace quench
