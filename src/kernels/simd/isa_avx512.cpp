// The loops for avx512; CMake gives this file its instruction set.
#define QUENCH_SIMD_TABLE kSimdAvx512
#define QUENCH_SIMD_NAME "avx512"
#include "kernels/simd/loops.h"
