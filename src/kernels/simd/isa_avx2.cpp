// The loops for avx2; CMake gives this file its instruction set.
#define QUENCH_SIMD_TABLE kSimdAvx2
#define QUENCH_SIMD_NAME "avx2"
#include "kernels/simd/loops.h"
