// Least and greatest of what a thread, a block or a tensor holds.
#pragma once

#include <math.h>

namespace quench {

// A NaN makes both ends NaN: it is taken like a smaller value, and kept.
struct Ends {
  float low, high;
  __device__ static Ends none() { return {INFINITY, -INFINITY}; }
  __device__ void add(float v) { merge({v, v}); }
  __device__ void merge(const Ends& other) {
    low = other.low < low || other.low != other.low ? other.low : low;
    high = other.high > high || other.high != other.high ? other.high : high;
  }
};

}  // namespace quench
