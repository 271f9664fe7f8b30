// What the .cu files need of LibTorch, without its headers: the current stream and memory in its order.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace quench {

CUstream_st* cuda_stream();

// Memory of LibTorch's caching allocator; given back at the end of the scope, in the order of the stream.
class CudaScratch {
 public:
  explicit CudaScratch(std::size_t bytes);
  ~CudaScratch();
  CudaScratch(const CudaScratch&) = delete;
  CudaScratch& operator=(const CudaScratch&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_;
};

// Throws if `code` (a cudaError_t) is not success.
void check_cuda(int code, const char* what);

// The size of a grid. Throws if CUDA takes no grid that large.
unsigned cuda_grid(std::int64_t blocks, const char* what);

}  // namespace quench
