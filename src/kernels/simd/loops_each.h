// The walk over a piece of memory that all element-by-element loops share. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/simd.h"

#if defined(__clang__)
#define QUENCH_NO_ALIAS _Pragma("clang loop vectorize(assume_safety)")
#else
#define QUENCH_NO_ALIAS _Pragma("GCC ivdep")
#endif
#define QUENCH_LOOP __attribute__((always_inline)) inline

namespace quench {
namespace {

QUENCH_LOOP std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

struct Channel {
  Affine affine;
  float zero_point;
};

QUENCH_LOOP Channel channel_at(const ChannelTable& t, std::int64_t c) {
  return {{t.scale[c], t.inverse[c], {t.low[c], t.high[c]}}, t.zero_point[c]};
}

// op(channel, i) writes what belongs to element i and touches nothing else.
template <class Op>
QUENCH_LOOP void each_in_run(const Channel channel, std::int64_t begin, std::int64_t end, const Op op) {
  QUENCH_NO_ALIAS
  for (std::int64_t i = begin; i < end; ++i) op(channel, i);
}

template <class Op>
QUENCH_LOOP void each_in_row(const ChannelTable t, std::int64_t first, std::int64_t count, std::int64_t at,
                             const Op op) {
  const float *scale = t.scale + first, *inverse = t.inverse + first, *low = t.low + first, *high = t.high + first,
              *zero_point = t.zero_point + first;
  QUENCH_NO_ALIAS
  for (std::int64_t k = 0; k < count; ++k)
    op(Channel{{scale[k], inverse[k], {low[k], high[k]}}, zero_point[k]}, at + k);
}

template <class Op>
QUENCH_LOOP void each(const ChannelTable& t, Piece piece, const Op op) {
  if (t.inner == 1 && t.channels > 1) {
    for (std::int64_t i = piece.begin; i < piece.end;) {
      const std::int64_t c = i % t.channels, count = least(piece.end - i, t.channels - c);
      each_in_row(t, c, count, i, op);
      i += count;
    }
    return;
  }
  for (std::int64_t i = piece.begin; i < piece.end;) {
    const std::int64_t row = i / t.inner, end = least(piece.end, (row + 1) * t.inner);
    each_in_run(channel_at(t, row % t.channels), i, end, op);
    i = end;
  }
}

// Division or reciprocal is decided outside the loop: make(constant) gives the op.
struct ByDivision {
  static constexpr bool kValue = true;
};
struct ByReciprocal {
  static constexpr bool kValue = false;
};
template <class Make>
QUENCH_LOOP void each_by(const ChannelTable& t, Piece piece, const Make make) {
  if (t.divide)
    each(t, piece, make(ByDivision{}));
  else
    each(t, piece, make(ByReciprocal{}));
}

}  // namespace
}  // namespace quench
