// The walk with two sums a channel, without atomic additions, so that a run gives the same bits again. Long runs:
// a block a chunk of a run. Short runs: a thread a place of the row, over a chunk of rows. A second kernel adds
// the parts of each channel in a fixed order, in float64.
#pragma once

#include "kernels/cuda_each.cuh"

namespace quench {

constexpr std::int64_t kRunChunk = 4096;
constexpr std::int64_t kLongRun = 256;
constexpr std::int64_t kRowsChunk = 256;

struct Pair {
  double first, second;
};

// The sum of `mine` over the block, in thread 0. The tree is the same in every run.
__device__ inline Pair block_sum(Pair mine) {
  __shared__ Pair warps[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) {
    mine.first += __shfl_down_sync(0xffffffffU, mine.first, step);
    mine.second += __shfl_down_sync(0xffffffffU, mine.second, step);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return mine;
  for (int warp = 1; warp < kThreads / 32; ++warp) {
    mine.first += warps[warp].first;
    mine.second += warps[warp].second;
  }
  return mine;
}

// op.run<V>(affine, i, first, second) does elements i to i + V of one channel and adds to the two sums.
template <int V, class Op>
__global__ void sum_runs_kernel(const AffineView view, const Op op, std::int64_t cuts, Pair* parts) {
  const std::int64_t row = blockIdx.x / cuts, cut = blockIdx.x % cuts;
  const Affine a = affine_at(view, row % view.channels);
  const std::int64_t begin = cut * kRunChunk, left = view.inner - begin;
  const std::int64_t count = left < kRunChunk ? left : kRunChunk, start = row * view.inner + begin;
  float first = 0.0F, second = 0.0F;
  for (std::int64_t k = threadIdx.x * V; k < count; k += kThreads * V) op.template run<V>(a, start + k, first, second);
  const Pair sum = block_sum({first, second});
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// threadIdx.x: the place in the row; threadIdx.y: every blockDim.y-th row of the chunk.
template <class Op>
__global__ void sum_rows_kernel(const AffineView view, const Op op, Pair* parts) {
  __shared__ float sums[2][kThreads];
  const std::int64_t width = view.channels * view.inner;
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t first_row = blockIdx.y * kRowsChunk;
  const std::int64_t last_row = first_row + kRowsChunk < view.outer ? first_row + kRowsChunk : view.outer;
  float first = 0.0F, second = 0.0F;
  if (place < width) {
    const Affine a = affine_at(view, place / view.inner);
    for (std::int64_t row = first_row + threadIdx.y; row < last_row; row += blockDim.y)
      op.template run<1>(a, row * width + place, first, second);
  }
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  sums[0][at] = first;
  sums[1][at] = second;
  __syncthreads();
  if (threadIdx.y != 0 || place >= width) return;
  Pair total{0.0, 0.0};
  for (unsigned k = threadIdx.x; k < kThreads; k += blockDim.x) {
    total.first += sums[0][k];
    total.second += sums[1][k];
  }
  parts[blockIdx.y * width + place] = total;
}

// Part p belongs to channel p / run % channels. A block a channel.
template <class Finish>
__global__ void add_parts_kernel(const AffineView view, const Pair* parts, std::int64_t count, std::int64_t run,
                                 const Finish finish) {
  const std::int64_t channel = blockIdx.x, mine = count / view.channels;
  Pair sum{0.0, 0.0};
  for (std::int64_t k = threadIdx.x; k < mine; k += kThreads) {
    const Pair& part = parts[(k / run * view.channels + channel) * run + k % run];
    sum.first += part.first;
    sum.second += part.second;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) finish(channel, sum, affine_at(view, channel).scale);
}

template <class Finish>
void add_parts(const AffineView& view, const Pair* parts, std::int64_t count, std::int64_t run, const Finish& finish) {
  add_parts_kernel<<<static_cast<unsigned>(view.channels), kThreads, 0, cuda_stream()>>>(view, parts, count, run,
                                                                                         finish);
  check_cuda(cudaGetLastError(), "a sum over channels");
}

template <class Op, class Finish>
void sum_runs(const AffineView& view, const Op& op, bool all_aligned, const Finish& finish) {
  const std::int64_t cuts = (view.inner + kRunChunk - 1) / kRunChunk, units = view.outer * view.channels * cuts;
  const CudaScratch scratch(static_cast<std::size_t>(units) * sizeof(Pair));
  Pair* parts = scratch.as<Pair>();
  if (all_aligned && view.inner % 4 == 0)
    sum_runs_kernel<4><<<static_cast<unsigned>(units), kThreads, 0, cuda_stream()>>>(view, op, cuts, parts);
  else
    sum_runs_kernel<1><<<static_cast<unsigned>(units), kThreads, 0, cuda_stream()>>>(view, op, cuts, parts);
  check_cuda(cudaGetLastError(), "a fused loop with sums");
  add_parts(view, parts, units, cuts, finish);
}

template <class Op, class Finish>
void sum_rows(const AffineView& view, const Op& op, const Finish& finish) {
  const std::int64_t width = view.channels * view.inner, chunks = (view.outer + kRowsChunk - 1) / kRowsChunk;
  const CudaScratch scratch(static_cast<std::size_t>(chunks * width) * sizeof(Pair));
  Pair* parts = scratch.as<Pair>();
  unsigned across = 32;  // a power of two, so that kThreads is a multiple of it
  while (across < kThreads && across < width) across *= 2;
  const dim3 block(across, kThreads / across);
  const dim3 grid(static_cast<unsigned>((width + across - 1) / across), static_cast<unsigned>(chunks));
  sum_rows_kernel<<<grid, block, 0, cuda_stream()>>>(view, op, parts);
  check_cuda(cudaGetLastError(), "a fused loop with sums");
  add_parts(view, parts, chunks * width, view.inner, finish);
}

// finish(channel, sums, scale) runs on the device, once a channel.
template <class Op, class Finish>
void sum_each(const AffineView& view, const Op& op, bool all_aligned, const Finish& finish) {
  if (size_of(view) == 0)
    add_parts(view, nullptr, 0, 1, finish);
  else if (view.inner >= kLongRun || view.channels == 1)
    sum_runs(view, op, all_aligned, finish);
  else
    sum_rows(view, op, finish);
}

}  // namespace quench
