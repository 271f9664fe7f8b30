// QUENCH_HD marks a plain function that CUDA kernels call too.
#pragma once

#ifdef __CUDACC__
#define QUENCH_HD __host__ __device__
#else
#define QUENCH_HD
#endif
