// The entries of a state dict in a file of torch.save, and their tensors. Several tensors may look into one storage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "zoo/torch_archive.h"

namespace at {
class Tensor;
}

namespace quench {

class TorchFile {
 public:
  explicit TorchFile(const std::string& path);

  struct Entry {
    std::string name;
    const PickleValue* value;
  };
  std::vector<Entry> entries() const;  // of the state dict, in order of the file
  at::Tensor tensor(const PickleValue& value);
  const PickleValue& at(int index) const { return archive_->tree().at(index); }

 private:
  const PickleValue& state_dict() const;
  std::vector<std::int64_t> integers(int index) const;
  const at::Tensor& storage(const PickleValue& value);

  std::unique_ptr<TorchArchive> archive_;
  std::map<std::string, at::Tensor> storages_;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace quench
