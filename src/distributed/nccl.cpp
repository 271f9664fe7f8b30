// NCCL, where LibTorch's CUDA is linked and NCCL's own header is there; else tensors on GPUs go through the CPU.
#include <ATen/ATen.h>

#if defined(QUENCH_WITH_CUDA) && __has_include(<nccl.h>)
#define USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "distributed/backends.h"

namespace quench {

#ifdef USE_C10D_NCCL
std::shared_ptr<c10d::Backend> nccl_backend(c10d::Store& store, const ProcessPlace& place) {
  const auto shared = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store);
  const auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", shared), place.rank, place.size);
  return {backend.get(), [backend](c10d::Backend*) {}};
}
#else
std::shared_ptr<c10d::Backend> nccl_backend(c10d::Store&, const ProcessPlace&) { return nullptr; }
#endif

}  // namespace quench
