// What a program may allocate while it runs: a few words of a file can ask for any amount.
#pragma once

#include <cstddef>

namespace quench {

// While it lives, tensors that this thread makes on the CPU are limited: each to 4 GB (2^30 floats, the largest input
// at the largest batch of a trace), all of them, one after another, to 64 GB. Beyond that an Error is thrown.
class LimitedMemory {
 public:
  LimitedMemory();
  ~LimitedMemory();
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;

 private:
  std::size_t left_before_;
};

}  // namespace quench
