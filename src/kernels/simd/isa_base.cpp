// The loops for any processor of the architecture.
#define QUENCH_SIMD_TABLE kSimdBase
#define QUENCH_SIMD_NAME "base"
#include "kernels/simd/loops.h"
