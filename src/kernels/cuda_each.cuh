// The walk over memory that all element-by-element kernels share: a thread has V consecutive elements.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda_place.h"
#include "kernels/table.h"

namespace quench {

constexpr int kThreads = 256;

template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  T v[V];
};

template <int V, class T>
__device__ inline Pack<T, V> load(const T* from, std::int64_t i) {
  return *reinterpret_cast<const Pack<T, V>*>(from + i);
}

template <int V, class T>
__device__ inline void store(T* to, std::int64_t i, const Pack<T, V>& pack) {
  *reinterpret_cast<Pack<T, V>*>(to + i) = pack;
}

// Which channel the elements from i on belong to. Divisions are made once a thread, of 32 bits where that is
// enough (Index).
template <class Index>
class Walk {
 public:
  __device__ Walk(const AffineView& view, std::int64_t i) : view_(view) {
    if (view.channels == 1) {
      set();
      return;
    }
    const Index row = static_cast<Index>(i) / static_cast<Index>(view.inner);
    place_ = static_cast<Index>(i) - row * static_cast<Index>(view.inner);
    channel_ = row % static_cast<Index>(view.channels);
    set();
  }
  __device__ void next() {
    if (view_.channels == 1 || ++place_ < static_cast<Index>(view_.inner)) return;
    place_ = 0;
    if (++channel_ == static_cast<Index>(view_.channels)) channel_ = 0;
    set();
  }
  __device__ const Affine& affine() const { return affine_; }
  __device__ float zero_point() const { return view_.zero_point[channel_ * view_.zero_step]; }

 private:
  __device__ void set() { affine_ = affine_at(view_, channel_); }
  const AffineView& view_;
  Index place_ = 0, channel_ = 0;
  Affine affine_;
};

// The op of the loop: run<V>(walk, i) does elements i to i + V.
template <int V, class Index, class Op>
__global__ void each_kernel(const AffineView view, const Op op, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads * V;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * V; i < count; i += step) {
    Walk<Index> walk(view, i);
    op.template run<V>(walk, i);
  }
}

constexpr std::int64_t kMaxBlocks = 1 << 20;

inline unsigned blocks_for(std::int64_t units, std::int64_t per_block) {
  const std::int64_t blocks = (units + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

template <int V, class Op>
void launch_each(const AffineView& view, const Op& op, std::int64_t count) {
  const unsigned blocks = blocks_for(count, kThreads * V);
  if (count < (std::int64_t{1} << 31))
    each_kernel<V, std::uint32_t><<<blocks, kThreads, 0, cuda_stream()>>>(view, op, count);
  else
    each_kernel<V, std::uint64_t><<<blocks, kThreads, 0, cuda_stream()>>>(view, op, count);
  check_cuda(cudaGetLastError(), "a fused loop");
}

inline bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

// Four at a time where memory allows it.
template <class Op>
void each(const AffineView& view, const Op& op, bool all_aligned) {
  const std::int64_t count = size_of(view);
  if (count == 0) return;
  if (all_aligned && count % 4 == 0)
    launch_each<4>(view, op, count);
  else
    launch_each<1>(view, op, count);
}

}  // namespace quench
