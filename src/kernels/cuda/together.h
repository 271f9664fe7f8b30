// Ranges and histograms of many tensors on CUDA in one launch, on raw memory.
#pragma once

#include <cstdint>

namespace quench {

// Bounds of a histogram; none where there are no bins.
struct TogetherBins {
  float low = 0, high = 0;  // as CudaBins has them
  int count = 0;
  bool absolute = false, grid = false;
  bool by_magnitude = false;  // low and high are 0 and the greatest magnitude that an earlier launch found
};

constexpr int kMostTogetherBins = 8192;  // what a block's own counts have room for

// One tensor, float32, dense, with one scale; less than 2^31 elements. Blocks from first_block on have it, `chunk`
// elements each.
struct TogetherTensor {
  const float* x;
  std::int64_t count, chunk;
  std::int64_t first_block;
  TogetherBins bins;
  std::uint32_t* ends;    // two words, 0 before the launch: decode with together_low() and together_high()
  std::uint32_t* counts;  // one word per bin, 0 before the launch
};

// Elements of a block: few enough for many blocks, many enough that emptying its counts costs little.
inline std::int64_t together_chunk(std::int64_t count) {
  constexpr std::int64_t kLeast = 65536, kBlocks = 1024, kMultiple = 4096;
  const std::int64_t fair = (count / kBlocks + kMultiple - 1) / kMultiple * kMultiple;
  return fair > kLeast ? fair : kLeast;
}

// `tensors` in device memory, in order of first_block.
struct TogetherLaunch {
  const TogetherTensor* tensors;
  int count;
  std::int64_t blocks;
  int most_bins;  // of any of them
};
void cuda_together(const TogetherLaunch& launch);

// Floats as words whose order is theirs; a NaN above all. The least is kept as the greatest of the inverted words.
float together_low(std::uint32_t word);
float together_high(std::uint32_t word);

}  // namespace quench
