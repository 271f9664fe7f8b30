// QUENCH_HD marks a plain function that CUDA kernels and the loops of kernels/isa_*.cpp call too. It is always
// inlined: a copy compiled for a newer instruction set must not be the one that the linker keeps for all.
#pragma once

#ifdef __CUDACC__
#define QUENCH_HD __host__ __device__
#else
#define QUENCH_HD __attribute__((always_inline))
#endif
