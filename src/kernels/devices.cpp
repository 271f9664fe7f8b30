#include "kernels/table.h"
#include "quench/error.h"

namespace quench {

const Kernels& cuda_kernels() { fail("this build of quench has no CUDA kernels: configure it with QUENCH_CUDA=ON"); }

}  // namespace quench
