// The two containers of torch.save: since 1.6 a zip, before that pickles and bytes one after the other. Either gives
// the pickle of the object saved, and the storages that it refers to by key.
#pragma once

#include <memory>

#include "zoo/pickle.h"

namespace quench {

class TorchArchive {
 public:
  virtual ~TorchArchive() = default;
  const PickleTree& tree() const { return tree_; }
  virtual std::uint64_t storage_bytes(const std::string& key) const = 0;  // throws if there is no such storage
  virtual void read_storage(const std::string& key, void* to, std::uint64_t count) const = 0;  // all of it
  virtual std::uint64_t file_size() const = 0;

 protected:
  PickleTree tree_;
};

// Told apart by the first bytes; throws for anything else.
std::unique_ptr<TorchArchive> open_torch_archive(const std::string& path);
std::unique_ptr<TorchArchive> open_legacy_archive(const std::string& path);

std::string first_bytes(const std::string& path, std::size_t count);  // as many as there are
bool is_torch_file(const std::string& first_bytes);

}  // namespace quench
