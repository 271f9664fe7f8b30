// The walk with a result a channel (sums, least and greatest), without atomic operations on floats, so that a run
// gives the same bits again. Long runs: a block a chunk of a run. Short runs: a thread a place of the row, over a
// chunk of rows. A second kernel merges the parts of each channel in a fixed order.
//
// An Op has State (what a thread gathers), Part (what parts are merged as), and
//   context(view, channel)            what run() needs of a channel
//   run<V>(context, i, state)         does elements i to i + V, all of that channel
//   part(state)                       of a thread
// State and Part have none(), and Part merge(other). Shared memory is why they have no constructors.
#pragma once

#include "kernels/cuda_each.cuh"

namespace quench {

constexpr std::int64_t kRunChunk = 4096;
constexpr std::int64_t kLongRun = 256;
constexpr std::int64_t kRowsChunk = 256;

// All parts of the block, in thread 0. The tree is the same in every run.
template <class Part>
__device__ inline Part block_merge(const Part& mine) {
  __shared__ Part parts[kThreads];
  parts[threadIdx.x] = mine;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x].merge(parts[threadIdx.x + half]);
  }
  return parts[threadIdx.x];
}

template <int V, class Op>
__global__ void runs_kernel(const AffineView view, const Op op, std::int64_t cuts, typename Op::Part* parts) {
  const std::int64_t row = blockIdx.x / cuts, cut = blockIdx.x % cuts;
  const auto context = op.context(view, row % view.channels);
  const std::int64_t begin = cut * kRunChunk, left = view.inner - begin;
  const std::int64_t count = left < kRunChunk ? left : kRunChunk, start = row * view.inner + begin;
  typename Op::State state = Op::State::none();
  for (std::int64_t k = threadIdx.x * V; k < count; k += kThreads * V) op.template run<V>(context, start + k, state);
  const typename Op::Part part = block_merge(op.part(state));
  if (threadIdx.x == 0) parts[blockIdx.x] = part;
}

// threadIdx.x: the place in the row; threadIdx.y: every blockDim.y-th row of the chunk.
template <class Op>
__global__ void rows_kernel(const AffineView view, const Op op, typename Op::Part* parts) {
  __shared__ typename Op::Part shared[kThreads];
  const std::int64_t width = view.channels * view.inner;
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t first_row = blockIdx.y * kRowsChunk;
  const std::int64_t last_row = first_row + kRowsChunk < view.outer ? first_row + kRowsChunk : view.outer;
  typename Op::State state = Op::State::none();
  if (place < width) {
    const auto context = op.context(view, place / view.inner);
    for (std::int64_t row = first_row + threadIdx.y; row < last_row; row += blockDim.y)
      op.template run<1>(context, row * width + place, state);
  }
  shared[threadIdx.y * blockDim.x + threadIdx.x] = op.part(state);
  __syncthreads();
  if (threadIdx.y != 0 || place >= width) return;
  typename Op::Part total = shared[threadIdx.x];
  for (unsigned k = threadIdx.x + blockDim.x; k < kThreads; k += blockDim.x) total.merge(shared[k]);
  parts[blockIdx.y * width + place] = total;
}

// Part p belongs to channel p / run % channels. A block a channel; finish(channel, part) writes the result.
template <class Part, class Finish>
__global__ void finish_kernel(std::int64_t channels, const Part* parts, std::int64_t count, std::int64_t run,
                              const Finish finish) {
  const std::int64_t channel = blockIdx.x, mine = count / channels;
  Part total = Part::none();
  for (std::int64_t k = threadIdx.x; k < mine; k += kThreads)
    total.merge(parts[(k / run * channels + channel) * run + k % run]);
  total = block_merge(total);
  if (threadIdx.x == 0) finish(channel, total);
}

template <class Part, class Finish>
void finish_parts(const AffineView& view, const Part* parts, std::int64_t count, std::int64_t run,
                  const Finish& finish) {
  finish_kernel<<<static_cast<unsigned>(view.channels), kThreads, 0, cuda_stream()>>>(view.channels, parts, count, run,
                                                                                      finish);
  check_cuda(cudaGetLastError(), "a merge over channels");
}

template <class Op, class Finish>
void reduce_runs(const AffineView& view, const Op& op, bool all_aligned, const Finish& finish) {
  const std::int64_t cuts = (view.inner + kRunChunk - 1) / kRunChunk, units = view.outer * view.channels * cuts;
  const CudaScratch scratch(static_cast<std::size_t>(units) * sizeof(typename Op::Part));
  auto* parts = scratch.as<typename Op::Part>();
  if (all_aligned && view.inner % 4 == 0)
    runs_kernel<4><<<static_cast<unsigned>(units), kThreads, 0, cuda_stream()>>>(view, op, cuts, parts);
  else
    runs_kernel<1><<<static_cast<unsigned>(units), kThreads, 0, cuda_stream()>>>(view, op, cuts, parts);
  check_cuda(cudaGetLastError(), "a fused loop with a result");
  finish_parts(view, parts, units, cuts, finish);
}

template <class Op, class Finish>
void reduce_rows(const AffineView& view, const Op& op, const Finish& finish) {
  const std::int64_t width = view.channels * view.inner, chunks = (view.outer + kRowsChunk - 1) / kRowsChunk;
  const CudaScratch scratch(static_cast<std::size_t>(chunks * width) * sizeof(typename Op::Part));
  auto* parts = scratch.as<typename Op::Part>();
  unsigned across = 32;  // a power of two, so that kThreads is a multiple of it
  while (across < kThreads && across < width) across *= 2;
  const dim3 block(across, kThreads / across);
  const dim3 grid(static_cast<unsigned>((width + across - 1) / across), static_cast<unsigned>(chunks));
  rows_kernel<<<grid, block, 0, cuda_stream()>>>(view, op, parts);
  check_cuda(cudaGetLastError(), "a fused loop with a result");
  finish_parts(view, parts, chunks * width, view.inner, finish);
}

template <class Op, class Finish>
void reduce(const AffineView& view, const Op& op, bool all_aligned, const Finish& finish) {
  if (view.channels == 0) return;
  if (size_of(view) == 0)
    finish_parts<typename Op::Part>(view, nullptr, 0, 1, finish);
  else if (view.inner >= kLongRun || view.channels == 1)
    reduce_runs(view, op, all_aligned, finish);
  else
    reduce_rows(view, op, finish);
}

}  // namespace quench
