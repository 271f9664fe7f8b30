#include <cstddef>

#include "quench/process.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace quench {

#ifdef __GLIBC__
bool keep_large_blocks() {
  // Blocks up to 1 GiB come from the heap, whose top is never given back. Setting the first also ends
  // glibc's own adjustment of both thresholds.
  constexpr int kMmapThreshold = 1 << 30;
  constexpr int kTrimThreshold = -1;  // never
  constexpr int kTopPad = 64 << 20;   // grow in steps of 64 MiB: fewer calls of the system
  constexpr int kHeaps = 1;           // what one thread gives back, another can use
  return mallopt(M_MMAP_THRESHOLD, kMmapThreshold) == 1 && mallopt(M_TRIM_THRESHOLD, kTrimThreshold) == 1 &&
         mallopt(M_TOP_PAD, kTopPad) == 1 && mallopt(M_ARENA_MAX, kHeaps) == 1;
}
#else
bool keep_large_blocks() { return false; }
#endif

}  // namespace quench
