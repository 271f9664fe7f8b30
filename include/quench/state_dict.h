// Weights in files and in memory: reads PyTorch's .pt / .pth (tensors only: nothing in the pickle is executed) and
// safetensors; fills a torch::nn::Module.
#pragma once

#include <string>
#include <vector>

#include "quench/safetensors.h"

namespace torch::nn {
class Module;
}

namespace quench {

// Either kind of file, told apart by its first bytes.
TensorMap read_state_dict(const std::string& path);

// A zip written by torch.save: a dict of tensors, or a checkpoint with one under "state_dict",
// "model_state_dict" or "model". Files older than torch 1.6 (no zip) are refused.
TensorMap read_torch_file(const std::string& path);

struct StateOptions {
  bool strict = true;  // missing and unexpected names are errors; else they are only returned
};

struct StateReport {
  std::vector<std::string> missing;     // in the module, not in the map
  std::vector<std::string> unexpected;  // in the map, not in the module
};

// Copies the tensors into the module's parameters and buffers of the same names; all or none. A "module."
// before every name (DataParallel) is dropped. A tensor of another shape is always an error; a missing
// num_batches_tracked is not (old checkpoints have no such counter).
StateReport load_state(torch::nn::Module& module, const TensorMap& tensors, const StateOptions& options = {});

TensorMap state_of(const torch::nn::Module& module);  // parameters and buffers, shared with the module

}  // namespace quench
