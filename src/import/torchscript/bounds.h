// Bounds on what LibTorch reads of a TorchScript file without any of its own.
#pragma once

#include <string_view>

namespace quench {

// Texts inside a pickle end with it, and its memo has no more places than it has bytes: LibTorch allocates both as it
// is told. Opcodes that torch.jit.save does not write are refused.
void check_pickle_bounds(std::string_view pickle);

// LibTorch's parser calls itself for each bracket, operator and block that lies in another.
void check_program_depth(std::string_view program);

}  // namespace quench
