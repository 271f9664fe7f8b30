// Loops on a piece of memory, compiled once for each instruction set (isa_*.cpp) from the same text (loops_*.h),
// and chosen when the program runs. Each file's code must stay its own: what these headers define is in an
// unnamed namespace or always inlined, and they use nothing of the standard library, or the linker could keep
// a copy made for a newer processor for everyone.
//
// All instruction sets give the same bits: contraction is off, and sums have a fixed order (kLanes partial sums
// over kChunk elements, whatever the width of a vector).
#pragma once

#include <cstdint>

#include "kernels/simd/simd_statistics.h"
#include "quant/affine.h"
#include "quant/dsq.h"
#include "quant/qdrop.h"

namespace quench {

constexpr int kLanes = 16;
constexpr std::int64_t kChunk = 4096;  // elements whose sum is formed in float

// What the loops know about each channel, one array per fact. Element i has channel i / inner % channels. Short runs
// (inner small) come as channels of their own with inner = 1.
struct ChannelTable {
  std::int64_t channels = 1, inner = 1;
  const float *scale, *inverse, *low, *high, *zero_point;
  bool divide = false;
};

// Elements [begin, end) of memory.
struct Piece {
  std::int64_t begin, end;
};

struct ClipRange {
  float low, high;
};

// Where two sums over a piece go. inner > 1: the piece lies in one channel, `total` takes them. inner = 1: the
// piece is whole rows of channels, and they are added to first[c] and second[c].
struct Sums {
  double* total;
  float *first, *second;
};

struct ScaledRow {
  std::int64_t count;
  float factor;
};

struct SimdLoops {
  const char* name;
  void (*fake_quantize)(const ChannelTable&, Piece, const float* x, float* y);
  void (*codes)(const ChannelTable&, Piece, const float* x, std::int32_t* q);
  void (*dequantize)(const ChannelTable&, Piece, const std::int32_t* q, float* y);
  void (*masked)(const ChannelTable&, Piece, const float* x, float* y, bool* mask);
  void (*masked_gradient)(Piece, const float* dy, const bool* mask, float* dx);
  void (*lsq_backward)(const ChannelTable&, Piece, const float* dy, const float* x, float* dx, Sums);
  void (*dsq_backward)(const ChannelTable&, Piece, DsqShape, const float* dy, const float* x, float* dx);
  void (*pact_forward)(const ChannelTable&, Piece, ClipRange, const float* x, float* y);
  void (*pact_backward)(const ChannelTable&, Piece, ClipRange, const float* dy, const float* x, float* dx, Sums);
  void (*adaround_forward)(const ChannelTable&, Piece, const float* w, const float* alpha, float* y);
  void (*adaround_backward)(const ChannelTable&, Piece, const float* dy, const float* w, const float* alpha,
                            float* dalpha);
  void (*qdrop_forward)(const ChannelTable&, Piece, const DropCoin&, const float* x, float* y);
  void (*qdrop_backward)(const ChannelTable&, Piece, const DropCoin&, const float* dy, const float* x, float* dx, Sums);
  void (*widen_bfloat16)(const std::uint16_t* from, std::int64_t count, float* to);
  void (*narrow_to_bfloat16)(const float* from, std::int64_t count, std::uint16_t* to);  // to nearest, ties to even
  void (*scale)(const float* x, std::int64_t count, float factor, float* y);
  // dx = dy * factor; gives the sum of dy * x.
  double (*scale_backward)(ScaledRow row, const float* dy, const float* x, float* dx);
  StatisticsLoops statistics;
};

// The best that this processor has, or the one that was forced.
const SimdLoops& simd();

// All that this processor has, plainest first.
struct SimdChoices {
  const SimdLoops* loops[3];
  int count;
};
SimdChoices simd_choices();

// For tests: null goes back to the best one.
void force_simd(const SimdLoops* loops);

// "avx512", "avx2" or "base".
const char* kernel_isa();

}  // namespace quench
