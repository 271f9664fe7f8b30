// Least and greatest, moments and histograms on CUDA.
#include "kernels/cuda/ends.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/statistics.h"
#include "kernels/statistics/bins.h"
#include "quant/math.h"

namespace quench {
namespace {

struct Nothing {};

struct Moments {
  double sum, squares, absolute;
  __device__ static Moments none() { return {0.0, 0.0, 0.0}; }
  __device__ void add(float v) {
    const double value = v;
    sum += value;
    squares += value * value;
    absolute += fabs(value);
  }
  __device__ void merge(const Moments& other) {
    sum += other.sum;
    squares += other.squares;
    absolute += other.absolute;
  }
};

template <class Gathered>
struct Gather {
  using State = Gathered;
  using Part = Gathered;
  static constexpr int kUnroll = 4, kBlocks = 6;
  const float* x;
  __device__ static Nothing context(const AffineView&, std::int64_t) { return {}; }
  __device__ static Part part(const State& state) { return state; }
  template <int V, class Lanes>
  __device__ void run(Lanes& lanes, std::int64_t i) const {
    const auto in = load<V>(x, i);
#pragma unroll
    for (int k = 0; k < V; ++k) lanes.state(k).add(in.v[k]);
  }
};

struct ToEnds {
  float *min, *max;
  __device__ void operator()(std::int64_t channel, const Ends& ends) const {
    min[channel] = ends.low;
    max[channel] = ends.high;
  }
};

struct ToMoments {
  double *sum, *squares, *absolute;
  __device__ void operator()(std::int64_t channel, const Moments& moments) const {
    sum[channel] = moments.sum;
    squares[channel] = moments.squares;
    absolute[channel] = moments.absolute;
  }
};

using Count = unsigned long long;  // what atomicAdd takes; whole numbers, so that the order does not matter

constexpr std::int64_t kHistogramChunk = 65536;
constexpr int kSharedBins = 8192;

// One block per chunk of a run, with counts of its own in shared memory.
template <int V>
__global__ void histogram_runs_kernel(const AffineView view, const float* x, const CudaBins bins, std::int64_t cuts,
                                      Count* counts) {
  extern __shared__ unsigned mine[];
  for (int k = threadIdx.x; k < bins.count; k += kThreads) mine[k] = 0;
  __syncthreads();
  const std::int64_t row = blockIdx.x / cuts, channel = row % view.channels;
  const Bins range = bins_of(bins.low[channel], bins.high[channel], bins.count, bins.grid);
  const std::int64_t begin = blockIdx.x % cuts * kHistogramChunk, left = view.inner - begin;
  const std::int64_t count = left < kHistogramChunk ? left : kHistogramChunk, start = row * view.inner + begin;
#pragma unroll 2
  for (std::int64_t i = threadIdx.x * V; i < count; i += kThreads * V) {
    const auto in = load<V>(x, start + i);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const int bin = bin_of(bins.absolute ? absolute(in.v[k]) : in.v[k], range);
      if (bin >= 0) atomicAdd(&mine[bin], 1U);
    }
  }
  __syncthreads();
  for (int k = threadIdx.x; k < bins.count; k += kThreads)
    if (mine[k] != 0) atomicAdd(&counts[channel * bins.count + k], static_cast<Count>(mine[k]));
}

template <int V>
void launch_histogram_runs(const AffineView& view, const float* x, const CudaBins& bins, Count* counts) {
  const std::int64_t cuts = parts_of(view.inner, kHistogramChunk);
  const unsigned grid = cuda_grid(view.outer * view.channels * cuts, "a histogram");
  const std::size_t shared = static_cast<std::size_t>(bins.count) * sizeof(unsigned);
  histogram_runs_kernel<V><<<grid, kThreads, shared, cuda_stream()>>>(view, x, bins, cuts, counts);
}

// Short runs or many bins: straight into memory.
__global__ void histogram_any_kernel(const AffineView view, const float* x, const CudaBins bins, Count* counts) {
  const std::int64_t count = size_of(view), step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const std::int64_t channel = i / view.inner % view.channels;
    const Bins range = bins_of(bins.low[channel], bins.high[channel], bins.count, bins.grid);
    const int bin = bin_of(bins.absolute ? absolute(x[i]) : x[i], range);
    if (bin >= 0) atomicAdd(&counts[channel * bins.count + bin], Count{1});
  }
}

__global__ void to_double_kernel(const Count* counts, std::int64_t count, double* to) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = static_cast<double>(counts[i]);
}

}  // namespace

void cuda_min_max(const AffineView& view, const float* x, float* min, float* max) {
  reduce(view, Gather<Ends>{x}, aligned(x), ToEnds{min, max});
}

void cuda_moments(const AffineView& view, const float* x, double* sum, double* squares, double* absolute) {
  reduce(view, Gather<Moments>{x}, aligned(x), ToMoments{sum, squares, absolute});
}

void cuda_histogram(const AffineView& view, const float* x, const CudaBins& bins, double* counts) {
  const std::int64_t cells = view.channels * bins.count;
  if (cells == 0) return;
  const CudaScratch scratch(static_cast<std::size_t>(cells) * sizeof(Count));
  auto* whole = scratch.as<Count>();
  check_cuda(cudaMemsetAsync(whole, 0, static_cast<std::size_t>(cells) * sizeof(Count), cuda_stream()), "a memset");
  if (size_of(view) > 0 && view.inner >= bins.count && bins.count <= kSharedBins) {
    if (aligned(x) && view.inner % 4 == 0)
      launch_histogram_runs<4>(view, x, bins, whole);
    else
      launch_histogram_runs<1>(view, x, bins, whole);
  } else if (size_of(view) > 0) {
    histogram_any_kernel<<<blocks_for(size_of(view), kThreads), kThreads, 0, cuda_stream()>>>(view, x, bins, whole);
  }
  const unsigned grid = cuda_grid(parts_of(cells, kThreads), "a histogram");
  to_double_kernel<<<grid, kThreads, 0, cuda_stream()>>>(whole, cells, counts);
  check_cuda(cudaGetLastError(), "a histogram");
}

}  // namespace quench
