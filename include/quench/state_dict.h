// Weights in files and in memory: reads PyTorch's .pt / .pth (tensors only: nothing in the pickle is executed) and
// safetensors; fills a torch::nn::Module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quench/quant.h"
#include "quench/safetensors.h"

namespace torch::nn {
class Module;
}

namespace quench {

// Either kind of file, told apart by its first bytes.
TensorMap read_state_dict(const std::string& path);

// Written by torch.save, of any version since 0.4: a dict of tensors, or a checkpoint with one under "state_dict",
// "model_state_dict" or "model". A quantized tensor is an error.
TensorMap read_torch_file(const std::string& path);

// The state dict of a network that PyTorch has converted to integers, as plain tensors: nothing of LibTorch's quantized
// types. Packed parameters of linear layers are "fc.weight" and "fc.bias", as those of convolutions are.
struct QuantizedState {
  struct Grid {  // weight = (code - zero point) * scale
    QParams params;
    int axis = -1;  // of the channels; -1: one scale for all
  };
  TensorMap tensors;                       // biases, and codes in int8, uint8 or int32
  std::map<std::string, Grid> grids;       // of those that are codes
  std::map<std::string, QParams> outputs;  // of what a module writes, by the module's name

  at::Tensor dequantized(const std::string& name) const;  // of codes; throws if there are none of that name
};
QuantizedState read_quantized_state(const std::string& path);

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
