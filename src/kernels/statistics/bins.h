// Which bin of a histogram a value falls into: the one definition, in float32.
#pragma once

#include <math.h>

#include "core/host_device.h"

namespace quench {

struct Bins {
  float low, high;   // what lies outside is not counted; a NaN neither
  float shrink;      // 1, or 1/2 where the width itself would overflow
  float shrunk_low;  // low * shrink
  float factor;      // bins / (width * shrink)
  float last;        // the last bin
  bool grid;         // bins on the grid: below
  bool all = false;  // every value lies inside, and need not be asked
};

// A range narrower than this is one point: it is far below the floor of every scale (2^-23), and its factor
// would overflow.
constexpr float kNarrowestRange = 1e-30F;
constexpr float kLargestFloat = 3.402823466e38F;

QUENCH_HD inline Bins bins_over(float low, float high, int bins) {
  Bins result{low, high, 1.0F, low, 0.0F, static_cast<float>(bins - 1), false};
  float width = high - low;
  if (width > kLargestFloat) {
    result.shrink = 0.5F;
    result.shrunk_low = low * 0.5F;
    width = high * 0.5F - result.shrunk_low;
  }
  if (width >= kNarrowestRange) result.factor = static_cast<float>(bins) / width;
  return result;
}

// Bins whose width is a power of two and whose edges are its multiples: floor(x / width) is exact, and so is the bin,
// whichever other bins were looked at. `low` is the lower edge of the first one, at most 2^23 widths from 0.
QUENCH_HD inline Bins bins_on_grid(float low, float width, int bins) {
  const float factor = 1.0F / width;
  return {low, kLargestFloat, 1.0F, low * factor, factor, static_cast<float>(bins - 1), true};
}

QUENCH_HD inline Bins bins_of(float low, float high_or_width, int bins, bool grid) {
  return grid ? bins_on_grid(low, high_or_width, bins) : bins_over(low, high_or_width, bins);
}

QUENCH_HD inline bool is_inside(float x, const Bins& bins) { return x >= bins.low && x <= bins.high; }

// Of a value inside: its bin and a fraction.
QUENCH_HD inline float place_of(float x, const Bins& bins) {
  const float place =
      bins.grid ? floorf(x * bins.factor) - bins.shrunk_low : (x * bins.shrink - bins.shrunk_low) * bins.factor;
  return place < bins.last ? place : bins.last;
}

// -1 outside.
QUENCH_HD inline int bin_of(float x, const Bins& bins) {
  return is_inside(x, bins) ? static_cast<int>(place_of(x, bins)) : -1;
}

}  // namespace quench
