// The walk over memory that all element-by-element kernels share: a thread has V consecutive elements.
#pragma once

#include <cuda_runtime.h>

#include <numeric>

#include "kernels/affine/table.h"
#include "kernels/cuda/place.h"

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

inline bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

// What the loops know about a channel.
struct Channel : Affine {
  float zero_point;
};

__device__ inline Channel channel_at(const AffineView& view, std::int64_t c) {
  return {affine_at(view, c), view.zero_point[c * view.zero_step]};
}

// Which channel the elements from i on belong to. Divisions are made once per thread, of 32 bits where that is
// enough (Index).
template <class Index>
class Walk {
 public:
  __device__ Walk(const AffineView& view, std::int64_t i) : view_(view) {
    if (view.channels > 1) {
      const Index row = static_cast<Index>(i) / static_cast<Index>(view.inner);
      place_ = static_cast<Index>(i) - row * static_cast<Index>(view.inner);
      number_ = row % static_cast<Index>(view.channels);
    }
    channel_ = channel_at(view_, number_);
  }
  __device__ void next() {
    if (view_.channels == 1 || ++place_ < static_cast<Index>(view_.inner)) return;
    place_ = 0;
    if (++number_ == static_cast<Index>(view_.channels)) number_ = 0;
    channel_ = channel_at(view_, number_);
  }
  __device__ const Channel& channel() const { return channel_; }

 private:
  const AffineView& view_;
  Index place_ = 0, number_ = 0;
  Channel channel_;
};

// The same V channels again and again, for a loop whose step is a multiple of a row (channels * inner): scales are
// read and inverted once per thread. `at_` is known when the loops over V are unrolled, so that all is in registers.
template <int V>
class FixedWalk {
 public:
  __device__ FixedWalk(const AffineView& view, std::int64_t i) {
    Walk<std::uint64_t> walk(view, i);
#pragma unroll
    for (int k = 0; k < V; ++k, walk.next()) channels_[k] = walk.channel();
  }
  __device__ void begin() { at_ = 0; }
  __device__ void next() { ++at_; }
  __device__ const Channel& channel() const { return channels_[at_]; }

 private:
  int at_ = 0;
  Channel channels_[V];
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

// gridDim.x * kThreads * V is a multiple of channels * inner.
template <int V, class Op>
__global__ void fixed_kernel(const AffineView view, const Op op, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads * V;
  std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * V;
  FixedWalk<V> walk(view, i);
  for (; i < count; i += step) {
    walk.begin();
    op.template run<V>(walk, i);
  }
}

constexpr std::int64_t kMaxBlocks = 1 << 20;

inline std::int64_t parts_of(std::int64_t units, std::int64_t per_part) { return (units + per_part - 1) / per_part; }

inline unsigned blocks_for(std::int64_t units, std::int64_t per_block) {
  const std::int64_t blocks = parts_of(units, per_block);
  return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

// Blocks for fixed_kernel, about kSteps steps per thread; 0 where that would be too few steps to pay.
inline unsigned fixed_blocks(const AffineView& view, std::int64_t count, std::int64_t per_block) {
  constexpr std::int64_t kSteps = 8, kLeastSteps = 4;
  if (view.channels == 1) return 0;
  const std::int64_t width = view.channels * view.inner, period = width / std::gcd(width, per_block);
  const std::int64_t blocks = parts_of(blocks_for(count, per_block * kSteps), period) * period;
  return count / per_block >= blocks * kLeastSteps ? static_cast<unsigned>(blocks) : 0;
}

template <int V, class Op>
void launch_each(const AffineView& view, const Op& op, std::int64_t count) {
  const unsigned blocks = blocks_for(count, kThreads * V), fixed = fixed_blocks(view, count, kThreads * V);
  if (fixed > 0)
    fixed_kernel<V><<<fixed, kThreads, 0, cuda_stream()>>>(view, op, count);
  else if (count < (std::int64_t{1} << 31))
    each_kernel<V, std::uint32_t><<<blocks, kThreads, 0, cuda_stream()>>>(view, op, count);
  else
    each_kernel<V, std::uint64_t><<<blocks, kThreads, 0, cuda_stream()>>>(view, op, count);
  check_cuda(cudaGetLastError(), "a fused loop");
}

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
