// The CUDA half of the tables, or the error that says there is none.
#include "kernels/affine/table.h"
#include "quench/error.h"

#ifdef QUENCH_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "kernels/cuda/place.h"

namespace quench {

CUstream_st* cuda_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

CudaScratch::CudaScratch(std::size_t bytes) : memory_(c10::cuda::CUDACachingAllocator::raw_alloc(bytes)) {}
CudaScratch::~CudaScratch() { c10::cuda::CUDACachingAllocator::raw_delete(memory_); }

void check_cuda(int code, const char* what) {
  QUENCH_CHECK(code == cudaSuccess, what, " failed on CUDA: ", cudaGetErrorString(static_cast<cudaError_t>(code)));
}

unsigned cuda_grid(std::int64_t blocks, const char* what) {
  QUENCH_CHECK(blocks <= 0x7fffffff, what, " needs ", blocks,
               " blocks; CUDA takes 2^31 - 1: work on part of the tensor");
  return static_cast<unsigned>(blocks);
}

}  // namespace quench

#else

namespace quench {

const Kernels& cuda_kernels() { fail("this build of quench has no CUDA kernels: configure it with QUENCH_CUDA=ON"); }

}  // namespace quench

#endif
