#include "kernels/cuda/together.h"

#include "kernels/cuda/ends.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/statistics/bins.h"
#include "quant/math.h"

namespace quench {
namespace {

constexpr std::uint32_t kSign = 0x80000000U, kNaN = 0xffffffffU;

__device__ std::uint32_t word_of(float v) {
  const auto bits = __float_as_uint(v);
  return bits & kSign ? ~bits : bits | kSign;
}

__host__ __device__ float float_of_word(std::uint32_t word) {
  return __builtin_bit_cast(float, word& kSign ? word & ~kSign : ~word);
}

__host__ __device__ float low_of(std::uint32_t word) { return word == kNaN ? NAN : float_of_word(~word); }
__host__ __device__ float high_of(std::uint32_t word) { return word == kNaN ? NAN : float_of_word(word); }

// What one thread gathers. Zeros, half of what a Relu gives, are not counted one by one: all lanes would wait for one
// place.
struct Gathered {
  Ends ends = Ends::none();
  unsigned zeros = 0;
};

__device__ void count(float v, const Bins& range, bool of_magnitudes, unsigned* mine, Gathered& gathered) {
  if (v == 0.0F) {
    ++gathered.zeros;
    return;
  }
  const int bin = bin_of(of_magnitudes ? absolute(v) : v, range);
  if (bin >= 0) atomicAdd(&mine[bin], 1U);
}

template <int V, bool kCounts>
__device__ void gather(const TogetherTensor& tensor, const Bins& range, std::int64_t begin, std::int64_t end,
                       unsigned* mine, Gathered& gathered) {
#pragma unroll 4
  for (std::int64_t i = begin + threadIdx.x * V; i < end; i += kThreads * V) {
    const auto in = load<V>(tensor.x, i);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      gathered.ends.add(in.v[k]);
      if constexpr (kCounts) count(in.v[k], range, tensor.bins.absolute, mine, gathered);
    }
  }
}

template <bool kCounts>
__device__ Gathered gather_chunk(const TogetherTensor& tensor, const Bins& range, std::int64_t chunk, unsigned* mine) {
  Gathered gathered;
  const std::int64_t begin = chunk * tensor.chunk;
  const std::int64_t end = begin + tensor.chunk < tensor.count ? begin + tensor.chunk : tensor.count;
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.x) % 16 == 0;
  const std::int64_t fours = aligned ? begin + (end - begin) / 4 * 4 : begin;
  gather<4, kCounts>(tensor, range, begin, fours, mine, gathered);
  gather<1, kCounts>(tensor, range, fours, end, mine, gathered);
  return gathered;
}

__device__ Bins range_of(const TogetherTensor& tensor) {
  const TogetherBins& bins = tensor.bins;
  if (!bins.by_magnitude) return bins_of(bins.low, bins.high, bins.count, bins.grid);
  const float low = -low_of(tensor.ends[0]), high = high_of(tensor.ends[1]);
  return bins_of(0.0F, low < high ? high : low, bins.count, bins.grid);
}

// All threads of the block.
__device__ void count_chunk(const TogetherTensor& tensor, std::int64_t chunk, unsigned* mine, Gathered& gathered) {
  const int bins = tensor.bins.count;
  for (int k = threadIdx.x; k < bins; k += kThreads) mine[k] = 0;
  const Bins range = range_of(tensor);
  __syncthreads();
  gathered = gather_chunk<true>(tensor, range, chunk, mine);
  const int zero = bin_of(0.0F, range);
  if (zero >= 0 && gathered.zeros > 0) atomicAdd(&mine[zero], gathered.zeros);
  __syncthreads();
  for (int k = threadIdx.x; k < bins; k += kThreads)
    if (mine[k] != 0) atomicAdd(&tensor.counts[k], mine[k]);
}

// The last tensor that begins at or before this block.
__device__ int tensor_of(const TogetherTensor* tensors, int count, std::int64_t block) {
  int first = 0, end = count;
  while (end - first > 1) {
    const int middle = (first + end) / 2;
    (tensors[middle].first_block <= block ? first : end) = middle;
  }
  return first;
}

__global__ void __launch_bounds__(kThreads) together_kernel(const TogetherTensor* tensors, int count) {
  extern __shared__ unsigned mine[];
  const TogetherTensor tensor = tensors[tensor_of(tensors, count, blockIdx.x)];
  const std::int64_t chunk = blockIdx.x - tensor.first_block;
  Gathered gathered;
  if (tensor.bins.count > 0)
    count_chunk(tensor, chunk, mine, gathered);
  else
    gathered = gather_chunk<false>(tensor, Bins{}, chunk, nullptr);
  const Ends ends = team_merge(gathered.ends, kThreads);
  if (threadIdx.x != 0) return;
  const bool is_nan = ends.low != ends.low;
  atomicMax(&tensor.ends[0], is_nan ? kNaN : ~word_of(ends.low));
  atomicMax(&tensor.ends[1], is_nan ? kNaN : word_of(ends.high));
}

}  // namespace

void cuda_together(const TogetherLaunch& launch) {
  if (launch.blocks == 0) return;
  const unsigned grid = cuda_grid(launch.blocks, "statistics of many tensors");
  const std::size_t shared = static_cast<std::size_t>(launch.most_bins) * sizeof(unsigned);
  together_kernel<<<grid, kThreads, shared, cuda_stream()>>>(launch.tensors, launch.count);
  check_cuda(cudaGetLastError(), "statistics of many tensors");
}

float together_low(std::uint32_t word) { return low_of(word); }
float together_high(std::uint32_t word) { return high_of(word); }

}  // namespace quench
