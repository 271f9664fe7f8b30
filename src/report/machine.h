// What `quench info` shows: versions, threads, engines, instruction sets, CUDA.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quench {

struct Machine {
  std::string version, libtorch_version, compiler;
  int threads = 0;
  std::vector<std::string> engines;           // "mkl", "onednn", "openmp" ...: those of this LibTorch
  std::vector<std::string> instruction_sets;  // of the processor
  std::string libtorch_capability;            // the set that LibTorch's own kernels chose: "AVX512"
  bool cuda_built = false;                    // the program was linked with LibTorch's CUDA libraries
  std::vector<std::string> cuda_devices;
};

Machine describe_machine();

}  // namespace quench
