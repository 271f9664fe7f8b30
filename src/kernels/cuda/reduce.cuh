// The walk with a result per channel (sums, least and greatest), without atomic operations on floats, so that a run
// gives the same bits again. Long runs, or runs that are their channel's only one: a team of threads per run, or a
// piece of it. Short runs that come again and again: one thread per V places of the row, over a chunk of rows. Where a
// channel has several parts a second kernel merges them in a fixed order.
//
// An Op has State (what a thread gathers), Part (what parts are merged as), and
//   context(view, channel)            what run() needs of a channel
//   run<V>(lanes, i)                  does elements i to i + V; the k-th has lanes.context(k) and lanes.state(k)
//   part(state)                       of a thread
//   kUnroll                           steps whose loads may run ahead: 1 where it stores
//   kAhead                            where it stores: steps that run_ahead<V, kAhead>(lanes, i, step) reads at once
//   kBlocks                           that should fit a multiprocessor: more where there is little to do but wait
// State and Part have none(), and Part merge(other). Shared memory is why they have no constructors.
#pragma once

#include "kernels/cuda/each.cuh"

namespace quench {

constexpr std::int64_t kRunChunk = 4096;  // elements that a block gathers before it adds states to parts
constexpr std::int64_t kLongRun = 256;
constexpr std::int64_t kManyUnits = 2048;   // keep a GPU busy; more would only be more to merge
constexpr std::int64_t kRowsBlocks = 1024;  // the same, for blocks that have rows

// V elements of one channel.
template <class Op, class Context>
struct SameLanes {
  const Context& of;
  typename Op::State& gathered;
  __device__ const Context& context(int) const { return of; }
  __device__ typename Op::State& state(int) { return gathered; }
};

// V elements of V places.
template <int V, class Op, class Context>
struct OwnLanes {
  Context of[V];
  typename Op::State gathered[V];
  __device__ const Context& context(int k) const { return of[k]; }
  __device__ typename Op::State& state(int k) { return gathered[k]; }
};

// The part of the thread that many lanes up.
template <class Part>
__device__ inline Part part_above(const Part& mine, unsigned lanes) {
  struct Words {
    unsigned word[sizeof(Part) / sizeof(unsigned)];
  };
  Words words = __builtin_bit_cast(Words, mine);
#pragma unroll
  for (unsigned& word : words.word) word = __shfl_down_sync(0xffffffffU, word, lanes);
  return __builtin_bit_cast(Part, words);
}

// All parts of `team` neighbouring threads (a power of two), in the first. The tree is the same in every run. All
// threads of the block call it.
template <class Part>
__device__ inline Part team_merge(Part part, unsigned team) {
  __shared__ Part warps[kThreads / 32];
  for (unsigned half = team < 32 ? team / 2 : 16; half > 0; half /= 2) part.merge(part_above(part, half));
  if (team <= 32) return part;
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = part;
  __syncthreads();
  if (threadIdx.x % team == 0)
    for (unsigned k = 1; k < team / 32; ++k) part.merge(warps[threadIdx.x / 32 + k]);
  return part;
}

// A run in `cuts` pieces of `cut` elements (a multiple of kRunChunk), a team each.
struct RunPlan {
  std::int64_t units, cuts, cut;
  unsigned team;  // threads; a power of two
};

// Elements i, i + step, ... below `end`, V at each place, in this order.
template <int V, class Op, class Lanes>
__device__ inline void run_steps(const Op& op, Lanes& lanes, std::int64_t i, std::int64_t end, std::int64_t step) {
  if constexpr (V > 1 && Op::kAhead > 1)
    for (; i + (Op::kAhead - 1) * step < end; i += Op::kAhead * step)
      op.template run_ahead<V, Op::kAhead>(lanes, i, step);
#pragma unroll Op::kUnroll
  for (; i < end; i += step) op.template run<V>(lanes, i);
}

template <int V, class Op>
__device__ typename Op::Part run_part(const AffineView& view, const Op& op, const RunPlan& plan, std::int64_t unit) {
  const std::int64_t row = plan.cuts == 1 ? unit : unit / plan.cuts, begin = (unit - row * plan.cuts) * plan.cut;
  const std::int64_t end = begin + plan.cut < view.inner ? begin + plan.cut : view.inner, start = row * view.inner;
  const auto context = op.context(view, view.outer == 1 ? row : row % view.channels);
  typename Op::Part total = Op::Part::none();
  for (std::int64_t chunk = begin; chunk < end; chunk += kRunChunk) {
    typename Op::State state = Op::State::none();
    SameLanes<Op, decltype(context)> lanes{context, state};
    const std::int64_t last = chunk + kRunChunk < end ? chunk + kRunChunk : end;
    run_steps<V>(op, lanes, start + chunk + threadIdx.x % plan.team * V, start + last, plan.team * V);
    total.merge(op.part(state));
  }
  return total;
}

template <int V, class Op, class Write>
__global__ void __launch_bounds__(kThreads, Op::kBlocks)
    runs_kernel(const AffineView view, const Op op, const RunPlan plan, const Write write) {
  const std::int64_t unit = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / plan.team;
  typename Op::Part part = Op::Part::none();
  if (unit < plan.units) part = run_part<V>(view, op, plan, unit);
  part = team_merge(part, plan.team);
  if (unit < plan.units && threadIdx.x % plan.team == 0) write(unit, part);
}

// Blocks side by side over the places of a row, and one below the other over chunks of rows. In a block `across`
// threads (a power of two) stand side by side.
struct RowPlan {
  std::int64_t columns, chunks, rows;
  unsigned across;
};

template <int V, class Op, class Write>
__global__ void __launch_bounds__(kThreads, Op::kBlocks)
    rows_kernel(const AffineView view, const Op op, const RowPlan plan, const Write write) {
  __shared__ typename Op::Part shared[kThreads];
  using Context = decltype(op.context(view, 0));
  const std::int64_t width = view.channels * view.inner, chunk = blockIdx.x / plan.columns;
  const unsigned x = threadIdx.x % plan.across, y = threadIdx.x / plan.across;
  const std::int64_t place = (blockIdx.x % plan.columns * plan.across + x) * V;
  const std::int64_t first = chunk * plan.rows, last = first + plan.rows < view.outer ? first + plan.rows : view.outer;
  OwnLanes<V, Op, Context> lanes;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    lanes.gathered[k] = Op::State::none();
    if (place < width) lanes.of[k] = op.context(view, (place + k) / view.inner);
  }
  if (place < width)
    for (std::int64_t row = first + y; row < last; row += kThreads / plan.across)
      op.template run<V>(lanes, row * width + place);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    __syncthreads();
    shared[threadIdx.x] = op.part(lanes.gathered[k]);
    __syncthreads();
    if (y != 0 || place >= width) continue;
    typename Op::Part total = shared[x];
    for (unsigned other = x + plan.across; other < kThreads; other += plan.across) total.merge(shared[other]);
    write(chunk * width + place + k, total);
  }
}

template <class Part>
struct ToParts {
  Part* parts;
  __device__ void operator()(std::int64_t unit, const Part& part) const { parts[unit] = part; }
};

// Part p belongs to channel p / run % channels. One block per channel; finish(channel, part) writes the result.
template <class Part, class Finish>
__global__ void finish_kernel(std::int64_t channels, const Part* parts, std::int64_t count, std::int64_t run,
                              const Finish finish) {
  const std::int64_t channel = blockIdx.x, mine = count / channels;
  Part total = Part::none();
#pragma unroll 4
  for (std::int64_t k = threadIdx.x; k < mine; k += kThreads)
    total.merge(parts[(k / run * channels + channel) * run + k % run]);
  total = team_merge(total, kThreads);
  if (threadIdx.x == 0) finish(channel, total);
}

template <class Part, class Finish>
void finish_parts(const AffineView& view, const Part* parts, std::int64_t count, std::int64_t run,
                  const Finish& finish) {
  finish_kernel<<<cuda_grid(view.channels, "a merge over channels"), kThreads, 0, cuda_stream()>>>(view.channels, parts,
                                                                                                   count, run, finish);
  check_cuda(cudaGetLastError(), "a merge over channels");
}

// launch(write) for `units` parts, `run` neighbours of a channel each. A channel's only part is its result.
template <class Part, class Finish, class Launch>
void launch_parts(const AffineView& view, std::int64_t units, std::int64_t run, const Finish& finish,
                  const Launch& launch) {
  if (units == view.channels) {
    launch(finish);
  } else {
    const CudaScratch scratch(static_cast<std::size_t>(units) * sizeof(Part));
    launch(ToParts<Part>{scratch.as<Part>()});
    finish_parts(view, scratch.as<Part>(), units, run, finish);
  }
  check_cuda(cudaGetLastError(), "a fused loop with a result");
}

template <int V, class Op>
RunPlan plan_runs(const AffineView& view) {
  const std::int64_t runs = view.outer * view.channels, chunks = parts_of(view.inner, kRunChunk);
  const std::int64_t cuts = runs < kManyUnits ? kManyUnits / runs : 1;
  RunPlan plan{0, 1, parts_of(chunks, cuts) * kRunChunk, 1};
  plan.cuts = parts_of(view.inner, plan.cut);
  plan.units = runs * plan.cuts;
  while (plan.team < kThreads && plan.team * V * Op::kUnroll < view.inner) plan.team *= 2;
  return plan;
}

template <int V, class Op, class Finish>
void reduce_runs(const AffineView& view, const Op& op, const Finish& finish) {
  const RunPlan plan = plan_runs<V, Op>(view);
  const unsigned grid = cuda_grid(parts_of(plan.units, kThreads / plan.team), "a fused loop with a result");
  launch_parts<typename Op::Part>(view, plan.units, plan.cuts, finish, [&](const auto& write) {
    runs_kernel<V><<<grid, kThreads, 0, cuda_stream()>>>(view, op, plan, write);
  });
}

// A thread adds up 4 rows in small tensors, 32 to 256 in large ones.
template <int V>
RowPlan plan_rows(const AffineView& view) {
  const std::int64_t width = view.channels * view.inner;
  RowPlan plan{1, 1, 1, 1};
  while (plan.across < kThreads && plan.across * V < width) plan.across *= 2;
  plan.columns = parts_of(width, static_cast<std::int64_t>(plan.across) * V);
  const std::int64_t down = kThreads / plan.across;
  const std::int64_t least = down < 4 ? 16 : 4 * down, most = down < 8 ? 256 : 32 * down;
  const std::int64_t fair = parts_of(view.outer * plan.columns, kRowsBlocks);
  plan.rows = fair < least ? least : (fair < most ? fair : most);
  plan.chunks = parts_of(view.outer, plan.rows);
  return plan;
}

template <int V, class Op, class Finish>
void reduce_rows(const AffineView& view, const Op& op, const Finish& finish) {
  const RowPlan plan = plan_rows<V>(view);
  const unsigned grid = cuda_grid(plan.chunks * plan.columns, "a fused loop with a result");
  const std::int64_t parts = plan.chunks * view.channels * view.inner;
  launch_parts<typename Op::Part>(view, parts, view.inner, finish, [&](const auto& write) {
    rows_kernel<V><<<grid, kThreads, 0, cuda_stream()>>>(view, op, plan, write);
  });
}

template <class Op, class Finish>
void reduce(const AffineView& view, const Op& op, bool all_aligned, const Finish& finish) {
  if (view.channels == 0) return;
  if (size_of(view) == 0) return finish_parts<typename Op::Part>(view, nullptr, 0, 1, finish);
  // Rows have a part per place: with fewer rows than places of a channel, that is more than a part per run.
  const bool runs = view.inner >= kLongRun || view.channels == 1 || view.outer <= view.inner;
  const std::int64_t piece = runs ? view.inner : view.channels * view.inner;
  if (all_aligned && piece % 4 == 0)
    runs ? reduce_runs<4>(view, op, finish) : reduce_rows<4>(view, op, finish);
  else
    runs ? reduce_runs<1>(view, op, finish) : reduce_rows<1>(view, op, finish);
}

}  // namespace quench
