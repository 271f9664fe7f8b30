// Key of the random numbers of one node in one run: the same key gives the same numbers, on any device and in
// any order (Philox, src/core/philox.h).
#pragma once

#include <cstdint>

namespace quench {

struct RandomKey {
  std::uint64_t seed = 0, node = 0, step = 0;
  // On a GPU: memory there that counts on, for kernels that are captured once and replayed with the same arguments.
  const std::uint64_t* counter = nullptr;
};

}  // namespace quench
