// The walk with two sums: kLanes partial sums in a run, one per channel in rows. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"

namespace quench {
namespace {

struct Terms {
  float first, second;
};

struct Lanes {
  float first[kLanes] = {}, second[kLanes] = {};
};

// op(channel, i) does its work for element i and gives the terms of the sums. `begin` starts lane 0.
template <class Op>
QUENCH_LOOP void sum_run(const Channel channel, std::int64_t begin, std::int64_t end, Lanes& lanes, const Op op) {
  Lanes sums = lanes;
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    QUENCH_NO_ALIAS
    for (int k = 0; k < kLanes; ++k) {
      const Terms terms = op(channel, i + k);
      sums.first[k] += terms.first;
      sums.second[k] += terms.second;
    }
  }
  for (int k = 0; i < end; ++i, ++k) {
    const Terms terms = op(channel, i);
    sums.first[k] += terms.first;
    sums.second[k] += terms.second;
  }
  lanes = sums;
}

template <class Op>
QUENCH_LOOP void sum_row(const ChannelTable t, std::int64_t first, std::int64_t count, std::int64_t at, const Sums to,
                         const Op op) {
  float *a = to.first + first, *b = to.second + first;
  const float *scale = t.scale + first, *inverse = t.inverse + first, *low = t.low + first, *high = t.high + first;
  QUENCH_NO_ALIAS
  for (std::int64_t k = 0; k < count; ++k) {
    const Terms terms = op(Channel{{scale[k], inverse[k], {low[k], high[k]}}, 0.0F}, at + k);
    a[k] += terms.first;
    b[k] += terms.second;
  }
}

QUENCH_LOOP void add_lanes(const Lanes& lanes, double* total) {
  double first = 0.0, second = 0.0;
  for (int k = 0; k < kLanes; ++k) {
    first += static_cast<double>(lanes.first[k]);
    second += static_cast<double>(lanes.second[k]);
  }
  total[0] = first;
  total[1] = second;
}

// prepare(begin, end) is called before each block of at most kBlock elements (random numbers).
template <class Prepare, class Op>
QUENCH_LOOP void sum_each(const ChannelTable& t, Piece piece, Sums to, const Prepare prepare, const Op op) {
  constexpr std::int64_t kBlock = kChunk / 2;
  if (t.inner == 1 && t.channels > 1) {
    for (std::int64_t block = piece.begin; block < piece.end; block += kBlock) {
      const std::int64_t block_end = least(piece.end, block + kBlock);
      prepare(block, block_end);
      for (std::int64_t i = block; i < block_end;) {
        const std::int64_t c = i % t.channels, count = least(block_end - i, t.channels - c);
        sum_row(t, c, count, i, to, op);
        i += count;
      }
    }
    return;
  }
  const Channel channel = channel_at(t, piece.begin / t.inner % t.channels);
  Lanes lanes;
  for (std::int64_t block = piece.begin; block < piece.end; block += kBlock) {
    const std::int64_t block_end = least(piece.end, block + kBlock);
    prepare(block, block_end);
    sum_run(channel, block, block_end, lanes, op);
  }
  add_lanes(lanes, to.total);
}

template <class Prepare, class Make>
QUENCH_LOOP void sum_each_by(const ChannelTable& t, Piece piece, Sums to, const Prepare prepare, const Make make) {
  if (t.divide)
    sum_each(t, piece, to, prepare, make(ByDivision{}));
  else
    sum_each(t, piece, to, prepare, make(ByReciprocal{}));
}

}  // namespace
}  // namespace quench
