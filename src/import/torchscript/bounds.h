// Bounds on what LibTorch reads from a TorchScript file unchecked.
#pragma once

#include <string_view>

namespace quench {

// Texts inside a pickle end with it, and its memo has no more places than it has bytes: LibTorch allocates both as the
// file says. Opcodes that torch.jit.save does not write are refused.
void check_pickle_bounds(std::string_view pickle);

// LibTorch's parser recurses for each nested bracket, operator and block.
void check_program_depth(std::string_view program);

}  // namespace quench
