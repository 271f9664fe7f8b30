#include <atomic>

#include "kernels/simd/simd.h"

namespace quench {

extern const SimdLoops kSimdBase;
#ifdef QUENCH_X86_SIMD
extern const SimdLoops kSimdAvx2, kSimdAvx512;
#endif

SimdChoices simd_choices() {
  SimdChoices choices{{&kSimdBase, nullptr, nullptr}, 1};
#ifdef QUENCH_X86_SIMD
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return choices;
  choices.loops[choices.count++] = &kSimdAvx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    choices.loops[choices.count++] = &kSimdAvx512;
#endif
  return choices;
}

namespace {

std::atomic<const SimdLoops*>& forced() {
  static std::atomic<const SimdLoops*> loops{nullptr};
  return loops;
}

}  // namespace

const SimdLoops& simd() {
  static const SimdChoices choices = simd_choices();
  const SimdLoops* loops = forced().load(std::memory_order_relaxed);
  return loops ? *loops : *choices.loops[choices.count - 1];
}

void force_simd(const SimdLoops* loops) { forced() = loops; }

const char* kernel_isa() { return simd().name; }

}  // namespace quench
