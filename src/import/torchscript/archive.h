// What a TorchScript file may hold, checked before LibTorch reads it: torch::jit::load trusts its file.
#pragma once

#include <string>

namespace quench {

// Throws for anything but a TorchScript file, for one that would unpack into much more than its size, and for one that
// runs code as soon as it is loaded.
void check_torchscript_archive(const std::string& path);

// True if the file has a TorchScript program; a state dict of torch.save has none. Throws for what is not a zip.
bool has_torchscript_program(const std::string& path);

}  // namespace quench
