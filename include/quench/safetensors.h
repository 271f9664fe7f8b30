// Tensors by name, and the safetensors files that hold them.
#pragma once

#include <map>
#include <string>

namespace at {
class Tensor;
}

namespace quench {

using TensorMap = std::map<std::string, at::Tensor>;

TensorMap read_safetensors(const std::string& path);
// Written to a temporary file and renamed. `metadata` goes into the header's "__metadata__".
void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// The same without a file.
std::string safetensors_bytes(const TensorMap& tensors, const std::map<std::string, std::string>& metadata = {});
TensorMap tensors_of_bytes(const std::string& bytes);

}  // namespace quench
