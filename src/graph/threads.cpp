// Threads of one operator: LibTorch's own setting, behind a header without torch.
#include <ATen/Parallel.h>

#include "quench/error.h"
#include "quench/process.h"

namespace quench {

void set_threads(int count) {
  QUENCH_CHECK(count >= 0, "the number of threads must be 0 (LibTorch's choice) or more, not ", count);
  if (count > 0) at::set_num_threads(count);
}

int threads() { return at::get_num_threads(); }

}  // namespace quench
